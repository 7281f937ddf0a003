// Package blockfile reads mainnet blocks from a file in bitcoind's framing: for
// each block the four magic bytes f9 be b4 d9, its length in four bytes, little
// endian, and the block. Zero bytes up to the end of the file are padding, a
// normal end.
//
// The reader streams: it holds one block at a time, and what it allocates is
// bounded by the bytes that it has read, whatever they claim. It checks each
// block against the merkle root of its header, and the header against its own
// proof of work, so that no bit of a block can change unseen; but not that the
// work is what the chain asks for, nor that blocks follow each other.
//
// bitcoind 28 and later obfuscates its files unless it runs with -blocksxor=0;
// such a file fails with [ErrMagic].
package blockfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// MaxBlock is the largest length of a block, in bytes.
const MaxBlock = wire.MaxBlockPayload

// What can be wrong with a file; [Error] says where.
var (
	ErrTruncated  = errors.New("the file ends inside the block")
	ErrMagic      = errors.New("the magic of a mainnet block is missing")
	ErrLength     = fmt.Errorf("the block length is not between 1 and %d", MaxBlock)
	ErrBlock      = errors.New("the block cannot be decoded")
	ErrTrailing   = errors.New("bytes follow the block inside its frame")
	ErrMerkleRoot = errors.New("the transactions do not match the merkle root of the header")
	ErrWork       = errors.New("the header does not have its proof of work")
)

// Error says which block of a file is at fault.
type Error struct {
	Index  int   // of the block in the file, from 0
	Offset int64 // of its magic from the start of the file, in bytes
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("block %d at offset %d: %v", e.Index, e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Block is one block and where it is in the file.
type Block struct {
	*wire.MsgBlock
	Index  int   // in the file, from 0
	Offset int64 // of its magic from the start of the file, in bytes
	Size   int   // of the serialised block, in bytes
}

// Reader reads the blocks of one file, in its order.
type Reader struct {
	r      *bufio.Reader
	index  int
	offset int64
	buf    bytes.Buffer
	err    error // the answer for ever, once there is one
}

// NewReader returns a reader that begins at the first block.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 1<<16)} }

// Next returns the next block, [io.EOF] after the last one, or an [*Error]. After
// an error it returns the same one again.
func (r *Reader) Next() (Block, error) {
	if r.err != nil {
		return Block{}, r.err
	}
	b, err := r.next()
	switch {
	case err == io.EOF:
		r.err = io.EOF
	case err != nil:
		r.err = &Error{r.index, r.offset, err}
	default:
		r.index++
		r.offset += int64(frameHeader + b.Size)
	}
	return b, r.err
}

const frameHeader = 8 // magic and length

var magic = []byte{0xf9, 0xbe, 0xb4, 0xd9}

func (r *Reader) next() (Block, error) {
	var header [frameHeader]byte
	n, err := io.ReadFull(r.r, header[:])
	switch {
	case err == io.EOF:
		return Block{}, io.EOF
	case err != nil && err != io.ErrUnexpectedEOF:
		return Block{}, err
	case bytes.Count(header[:n], []byte{0}) == n:
		return Block{}, r.padding(int64(n))
	case !bytes.HasPrefix(header[:], magic[:min(n, len(magic))]):
		return Block{}, fmt.Errorf("%w: found %x", ErrMagic, header[:min(n, len(magic))])
	case n < frameHeader:
		return Block{}, fmt.Errorf("%w: %d bytes of magic and length are left", ErrTruncated, n)
	}
	size := binary.LittleEndian.Uint32(header[len(magic):])
	if size == 0 || size > MaxBlock {
		return Block{}, fmt.Errorf("%w: it is %d", ErrLength, size)
	}
	r.buf.Reset()
	switch got, err := io.CopyN(&r.buf, r.r, int64(size)); {
	case err == io.EOF:
		return Block{}, fmt.Errorf("%w: %d of %d bytes are left", ErrTruncated, got, size)
	case err != nil:
		return Block{}, err
	}
	msg, err := decode(r.buf.Bytes())
	return Block{msg, r.index, r.offset, int(size)}, err
}

// padding accepts zero bytes up to the end, of which n are read already.
func (r *Reader) padding(n int64) error {
	for {
		c, err := r.r.ReadByte()
		if err != nil {
			return err
		}
		if c != 0 {
			return fmt.Errorf("%w: %d zero bytes are not the end of the file", ErrMagic, n)
		}
		n++
	}
}

func decode(raw []byte) (*wire.MsgBlock, error) {
	if !countsFit(raw) {
		return nil, fmt.Errorf("%w: it claims more than its %d bytes can hold", ErrBlock, len(raw))
	}
	msg, in := new(wire.MsgBlock), bytes.NewReader(raw)
	switch err := msg.Deserialize(in); {
	case err != nil:
		return nil, fmt.Errorf("%w: %v", ErrBlock, err)
	case len(msg.Transactions) == 0:
		return nil, fmt.Errorf("%w: it has no transactions", ErrBlock)
	case in.Len() > 0:
		return nil, fmt.Errorf("%w: %d of %d", ErrTrailing, in.Len(), len(raw))
	}
	if root := merkleRoot(msg.Transactions); root != msg.Header.MerkleRoot {
		return nil, fmt.Errorf("%w: %s, not %s", ErrMerkleRoot, root, msg.Header.MerkleRoot)
	}
	if err := checkWork(&msg.Header); err != nil {
		return nil, err
	}
	return msg, nil
}

// lowestWork is the target of mainnet that is met most easily.
const lowestWork = 0x1d00ffff

// checkWork compares the hash of a header, as a number, with the target that its
// bits stand for: three digits of base 256, and how many digits there are in all.
func checkWork(h *wire.BlockHeader) error {
	target := func(bits uint32) *big.Int {
		n := big.NewInt(int64(bits & 0x7fffff))
		if size := uint(bits >> 24); size >= 3 {
			return n.Lsh(n, 8*(size-3))
		} else {
			return n.Rsh(n, 8*(3-size))
		}
	}
	limit := target(h.Bits)
	if h.Bits&0x800000 != 0 || limit.Sign() == 0 || limit.Cmp(target(lowestWork)) > 0 {
		return fmt.Errorf("%w: its bits %08x are no target of mainnet", ErrWork, h.Bits)
	}
	hash := h.BlockHash()
	digits := slices.Clone(hash[:])
	slices.Reverse(digits)
	if new(big.Int).SetBytes(digits).Cmp(limit) > 0 {
		return fmt.Errorf("%w: %s is above the target of its bits %08x", ErrWork, hash, h.Bits)
	}
	return nil
}

// merkleRoot hashes at least one transaction id, pair by pair; the last of an
// odd number is paired with itself.
func merkleRoot(txs []*wire.MsgTx) chainhash.Hash {
	level := make([]chainhash.Hash, len(txs))
	for i, tx := range txs {
		level[i] = tx.TxHash()
	}
	for len(level) > 1 {
		for i := 0; i < len(level); i += 2 {
			left, right := level[i], level[min(i+1, len(level)-1)]
			level[i/2] = chainhash.DoubleHashH(append(left[:], right[:]...))
		}
		level = level[:(len(level)+1)/2]
	}
	return level[0]
}

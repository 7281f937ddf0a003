package blockfile

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/btcsuite/btcd/wire/v2"
)

// FuzzReader: whatever a file holds, the reader returns whole blocks that
// encode to the bytes of the file, then one clear end; it never panics, and
// memory grows with the file alone.
func FuzzReader(f *testing.F) {
	blocks := mainnet(f)
	f.Add([]byte{})
	f.Add(blocks[0])
	f.Add(bytes.Join(blocks[169:171], nil))
	f.Add(append(bytes.Clone(blocks[1]), make([]byte, 20)...))
	f.Add(blocks[2][:len(blocks[2])-1])
	f.Add(frame(append(bytes.Clone(blocks[3][frameHeader:]), 0)))
	f.Add(frame(witnessBlock(f)))
	f.Fuzz(func(t *testing.T, file []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		blocks, err := readAll(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		// 16 MiB for the buffers of package wire, which its pool may have
		// dropped.
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 16<<20+100*uint64(len(file)) {
			t.Errorf("%d bytes cost %d", len(file), cost)
		}

		end := int64(0)
		for i, b := range blocks {
			if b.Index != i || b.Offset != end {
				t.Fatalf("block %d at %d is said to be %d at %d", i, end, b.Index, b.Offset)
			}
			var raw bytes.Buffer
			if err := b.Serialize(&raw); err != nil {
				t.Fatal(err)
			}
			end += int64(frameHeader + b.Size)
			if !bytes.Equal(file[b.Offset:end], frame(raw.Bytes())) {
				t.Fatalf("block %d encodes to other bytes", i)
			}
		}
		rest := file[end:]
		if err == io.EOF {
			if bytes.Count(rest, []byte{0}) != len(rest) {
				t.Fatalf("a normal end before %x", rest)
			}
			return
		}
		var at *Error
		if !errors.As(err, &at) || at.Index != len(blocks) || at.Offset != end {
			t.Fatalf("%v, after %d blocks and %d bytes", err, len(blocks), end)
		}
	})
}

// FuzzCountsFit: what package wire can decode is never refused for its counts.
func FuzzCountsFit(f *testing.F) {
	for _, b := range mainnet(f)[:3] {
		f.Add(b[frameHeader:])
	}
	f.Add(witnessBlock(f))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if new(wire.MsgBlock).Deserialize(bytes.NewReader(raw)) == nil && !countsFit(raw) {
			t.Error("it can be decoded")
		}
	})
}

// witnessBlock returns a block with witnesses of none, one and 300 items.
func witnessBlock(t testing.TB) []byte {
	tx := wire.NewMsgTx(2)
	for n := range 3 {
		in := wire.NewTxIn(&wire.OutPoint{Index: uint32(n)}, []byte{1, 2}, nil)
		in.Witness = make(wire.TxWitness, []int{0, 1, 300}[n])
		for i := range in.Witness {
			in.Witness[i] = make([]byte, i)
		}
		tx.AddTxIn(in)
	}
	tx.AddTxOut(wire.NewTxOut(1, make([]byte, 300)))
	block := &wire.MsgBlock{Transactions: []*wire.MsgTx{tx}}
	block.Header.MerkleRoot = merkleRoot(block.Transactions)
	var raw bytes.Buffer
	if err := block.Serialize(&raw); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

package blockfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/btcsuite/btcd/wire/v2"
)

// mainnet returns blocks 0 to 300, framed one by one.
func mainnet(t testing.TB) [][]byte {
	t.Helper()
	file, err := os.ReadFile("../../internal/mainnet/blocks-0-300.dat")
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for len(file) > 0 {
		n := frameHeader + int(binary.LittleEndian.Uint32(file[4:]))
		frames, file = append(frames, file[:n:n]), file[n:]
	}
	return frames
}

func frame(block []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(bytes.Clone(magic), uint32(len(block))), block...)
}

func readAll(r io.Reader) (blocks []Block, err error) {
	for file := NewReader(r); ; {
		b, err := file.Next()
		if err != nil {
			if _, again := file.Next(); again != err {
				return nil, errors.New("the second answer after an error differs")
			}
			return blocks, err
		}
		blocks = append(blocks, b)
	}
}

func TestReaderReadsTheFirstBlocksOfMainnet(t *testing.T) {
	file := bytes.Join(mainnet(t), nil)
	if len(file) != 69_075 {
		t.Fatalf("the file has %d bytes", len(file))
	}
	for name, r := range map[string]io.Reader{
		"whole":         bytes.NewReader(file),
		"byte by byte":  iotest.OneByteReader(bytes.NewReader(file)),
		"data with EOF": iotest.DataErrReader(bytes.NewReader(file)),
	} {
		blocks, err := readAll(r)
		if err != io.EOF || len(blocks) != 301 {
			t.Fatalf("%s: %d blocks, %v", name, len(blocks), err)
		}
		offset := int64(0)
		for i, b := range blocks {
			if b.Index != i || b.Offset != offset || b.Size != b.SerializeSize() {
				t.Fatalf("%s: block %d is at %d with %d bytes, said to be %d at %d with %d",
					name, i, offset, b.SerializeSize(), b.Index, b.Offset, b.Size)
			}
			if i > 0 && b.Header.PrevBlock != blocks[i-1].BlockHash() {
				t.Fatalf("%s: block %d does not follow block %d", name, i, i-1)
			}
			offset += frameHeader + int64(b.Size)
		}
		if got := blocks[170].BlockHash().String(); got != "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee" {
			t.Fatalf("%s: block 170 is %s", name, got)
		}
	}
}

func TestReaderSaysWhatIsWrongAndWhere(t *testing.T) {
	blocks := mainnet(t)
	first, second := blocks[0], blocks[1]
	start := int64(len(first))
	raw := second[frameHeader:]

	with := func(tail ...byte) []byte { return append(bytes.Clone(first), tail...) }
	changed := func(at int, to byte) []byte {
		c := bytes.Clone(second)
		c[at] = to
		return with(c...)
	}
	length := func(n uint32) []byte {
		c := bytes.Clone(second)
		binary.LittleEndian.PutUint32(c[4:], n)
		return with(c...)
	}
	padded := func(block []byte, size int) []byte {
		return append(bytes.Clone(block), make([]byte, size-len(block))...)
	}
	countAt := wire.MaxBlockHeaderPayload // of the transactions

	for _, test := range []struct {
		name string
		file []byte
		want error // nil for a normal end
	}{
		{"an empty file has no blocks", nil, nil},
		{"a file may end after a block", with(), nil},
		{"one zero byte is padding", with(0), nil},
		{"three zero bytes are padding", with(0, 0, 0), nil},
		{"seven zero bytes are padding", with(make([]byte, 7)...), nil},
		{"eight zero bytes are padding", with(make([]byte, 8)...), nil},
		{"a mebibyte of zero bytes is padding", with(make([]byte, 1<<20)...), nil},
		{"padding goes on to the end", with(append(make([]byte, 1000), 1)...), ErrMagic},
		{"padding does not separate blocks", with(append(make([]byte, 8), second...)...), ErrMagic},
		{"padding shorter than a header does not either", with(append(make([]byte, 4), second...)...), ErrMagic},

		{"one byte of the magic", with(second[:1]...), ErrTruncated},
		{"three bytes of the magic", with(second[:3]...), ErrTruncated},
		{"the magic alone", with(second[:4]...), ErrTruncated},
		{"all but one byte of the length", with(second[:7]...), ErrTruncated},
		{"a header without a block", with(second[:8]...), ErrTruncated},
		{"the first byte of a block", with(second[:9]...), ErrTruncated},
		{"all but the last byte of a block", with(second[:len(second)-1]...), ErrTruncated},

		{"another first byte of the magic", changed(0, 0xf8), ErrMagic},
		{"another last byte of the magic", changed(3, 0xd8), ErrMagic},
		{"the magic of testnet", with(append([]byte{0x0b, 0x11, 0x09, 0x07}, second[4:]...)...), ErrMagic},
		{"one byte that no magic starts with", with(1), ErrMagic},
		{"two bytes that no magic starts with", with(0xf9, 1), ErrMagic},

		{"length 0", length(0), ErrLength},
		{"length 0 at the end of the file", with(second[0], second[1], second[2], second[3], 0, 0, 0, 0), ErrLength},
		{"length above the largest block", length(MaxBlock + 1), ErrLength},
		{"the largest number as the length", length(1<<32 - 1), ErrLength},
		{"the length of the largest block in a short file", length(MaxBlock), ErrTruncated},
		{"the largest frame", with(frame(padded(raw, MaxBlock))...), ErrTrailing},

		{"length 1", length(1), ErrBlock},
		{"a header alone", with(frame(raw[:countAt])...), ErrBlock},
		{"no transactions", with(frame(append(bytes.Clone(raw[:countAt]), 0))...), ErrBlock},
		{"one byte less than the block", with(frame(raw[:len(raw)-1])...), ErrBlock},
		{"one transaction more than there is", changed(frameHeader+countAt, 2), ErrBlock},
		{"a count that is not the shortest", with(frame(bytes.Join([][]byte{raw[:countAt], {0xfd, 1, 0}, raw[countAt+1:]}, nil))...), ErrBlock},
		{"one byte more than the block", with(frame(padded(raw, len(raw)+1))...), ErrTrailing},

		{"another root in the header", changed(frameHeader+40, raw[40]+1), ErrMerkleRoot},
		{"another last byte", changed(len(second)-1, raw[len(raw)-1]+1), ErrMerkleRoot},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(bytes.NewReader(test.file))
			if test.want == nil {
				if err != io.EOF || len(got) != min(len(test.file), 1) {
					t.Fatalf("%d blocks, %v", len(got), err)
				}
				return
			}
			var at *Error
			if !errors.Is(err, test.want) || !errors.As(err, &at) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if len(got) != 1 || at.Index != 1 || at.Offset != start {
				t.Errorf("%d blocks, then %v, not at %d", len(got), err, start)
			}
			if text := "block 1 at offset 293: " + test.want.Error(); !strings.HasPrefix(err.Error(), text) {
				t.Errorf("%q does not start with %q", err, text)
			}
		})
	}
}

// Every file that is cut anywhere gives whole blocks and one clear end.
func TestReaderStandsACutAnywhere(t *testing.T) {
	blocks := mainnet(t)
	file := bytes.Join(blocks[169:172], nil)
	ends := map[int]int{0: 0, len(blocks[169]): 1, len(blocks[169]) + len(blocks[170]): 2, len(file): 3}
	whole := 0
	for cut := 0; cut <= len(file); cut++ {
		want := ErrTruncated
		if n, ok := ends[cut]; ok {
			whole, want = n, io.EOF
		}
		got, err := readAll(bytes.NewReader(file[:cut]))
		if !errors.Is(err, want) || len(got) != whole {
			t.Fatalf("cut at %d: %d blocks, %v", cut, len(got), err)
		}
	}
}

func TestReaderPassesOnAReadError(t *testing.T) {
	file := bytes.Join(mainnet(t)[:2], nil)
	broken := errors.New("the disk is on fire")
	for _, at := range []int{0, 3, 8, 100, 293, 300, 400, len(file)} {
		_, err := readAll(io.MultiReader(bytes.NewReader(file[:at]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

// A count is not believed: what a hundred bytes cost does not depend on what
// they claim.
func TestReaderAllocatesWhatItReads(t *testing.T) {
	raw := mainnet(t)[1][frameHeader:]
	version := wire.MaxBlockHeaderPayload + 1
	lie := []byte{0xfe, 0, 0, 1, 0} // 65,536, below each limit of package wire
	for name, block := range map[string][]byte{
		"transactions": append(bytes.Clone(raw[:version-1]), lie...),
		"inputs":       append(bytes.Clone(raw[:version+4]), lie...),
		"outputs":      append(append(append(bytes.Clone(raw[:version+4]), 1), make([]byte, 41)...), lie...),
		"witnesses": append(append(append(append(bytes.Clone(raw[:version+4]), 0, 1, 1), make([]byte, 41)...),
			append([]byte{1}, make([]byte, 9)...)...), lie...),
	} {
		file := frame(block)
		const runs = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			if _, err := readAll(bytes.NewReader(file)); !errors.Is(err, ErrBlock) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		runtime.ReadMemStats(&after)
		cost := (after.TotalAlloc - before.TotalAlloc) / runs
		if cost > 100_000 { // the buffer of the reader is 65,536
			t.Errorf("a false number of %s costs %d bytes", name, cost)
		}
	}
}

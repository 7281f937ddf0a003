package purity

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No line of code outside tests is longer than a review shows: 140 columns.
func TestLinesAreShort(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for n := 1; lines.Scan(); n++ {
			if columns := len(lines.Bytes()); columns > 140 { // bytes, as most tools count
				t.Errorf("%s:%d has %d columns", path, n, columns)
			}
		}
		return err
	})
	if err != nil || files < 100 {
		t.Error(files, err)
	}
}

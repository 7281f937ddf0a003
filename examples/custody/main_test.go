package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A day with the times of the program, which pass at once here. The report fails the test if book,
// records and chains do not agree.
func TestDay(t *testing.T) {
	seeds := 1
	if os.Getenv("SETTLE_SOAK") != "" {
		seeds = 12
	}
	for seed := 1; seed <= seeds; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var report strings.Builder
				o := options{db: filepath.Join(dir, "custody.db"), seed: uint64(seed), length: 8 * time.Second}
				if err := live(t.Context(), o, dir, &report); err != nil {
					t.Errorf("%v\n%s", err, report.String())
				}
				for _, must := range []string{"212 deposits is credited once", "6 hosted", "no worker ended by itself", "PASS\n"} {
					if !strings.Contains(report.String(), must) {
						t.Errorf("no %q in the report:\n%s", must, report.String())
					}
				}
				if strings.Contains(report.String(), "killed 0 times") || strings.Contains(report.String(), " 0 paid") {
					t.Errorf("nothing was killed, or nothing was paid:\n%s", report.String())
				}
				t.Log(report.String())
			})
		})
	}
}

func TestArguments(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.db")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"today"}, {"-length", "0s"}, {"-db", old}} {
		if err := run(t.Context(), args, &strings.Builder{}); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

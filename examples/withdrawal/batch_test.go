package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/withdrawal"
)

const (
	header = "user,asset,chain,address,amount,priority\n"
	goodTo = "0x00112233445566778899aabbccddeeff00112233"
	good   = "ann,USDX,demo," + goodTo + ",12.5,normal\n"
)

func TestRefusedRowsNameLineAndField(t *testing.T) {
	for name, c := range map[string]struct {
		row   string
		field string
		err   error // nil: any
	}{
		"too few fields":         {"ann,USDX,demo", "", errColumns},
		"too many fields":        {strings.TrimSpace(good) + ",x", "", errColumns},
		"an open quote":          {`"ann,USDX,demo,x,1,low`, "", nil},
		"no user":                {strings.Replace(good, "ann", "", 1), "user", nil},
		"a user with a space":    {strings.Replace(good, "ann", "ann b", 1), "user", nil},
		"bytes that are no text": {strings.Replace(good, "ann", "a\xffn", 1), "user", nil},
		"a long user":            {strings.Replace(good, "ann", strings.Repeat("a", maxField+1), 1), "user", errTooLong},
		"an unknown asset":       {strings.Replace(good, "USDX", "DOGE", 1), "asset", errUnknown},
		"an unknown chain":       {strings.Replace(good, "demo", "main", 1), "chain", errUnknown},
		"a short address":        {strings.Replace(good, goodTo, "0x01", 1), "address", errAddress},
		"too many decimals":      {strings.Replace(good, "12.5", "0.1234567", 1), "amount", statemachine.ErrInvalid},
		"a negative amount":      {strings.Replace(good, "12.5", "-1", 1), "amount", statemachine.ErrInvalid},
		"an exponent":            {strings.Replace(good, "12.5", "1e3", 1), "amount", statemachine.ErrInvalid},
		"nothing to pay":         {strings.Replace(good, "12.5", "0", 1), "amount", statemachine.ErrInvalid},
		"an unknown priority":    {strings.Replace(good, "normal", "urgent", 1), "priority", nil},
	} {
		t.Run(name, func(t *testing.T) {
			text := header + good + "\r\n" + strings.TrimSuffix(c.row, "\n") + "\n" + strings.Replace(good, "ann", "bea", 1)
			rows, refused, err := readBatch("b", strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != 2 || len(refused) != 1 {
				t.Fatalf("%d rows and %d refused, want 2 and 1: the others count", len(rows), len(refused))
			}
			if e := refused[0]; e.Line != 4 || e.Field != c.field || c.err != nil && !errors.Is(e, c.err) {
				t.Errorf("%v (field %q)", e, e.Field)
			}
		})
	}
}

func TestUnusableBatches(t *testing.T) {
	many := header + strings.Repeat("\n", maxRows)
	for name, c := range map[string]struct {
		text string
		line int
		err  error
	}{
		"empty":          {"", 1, errColumns},
		"no header":      {good, 1, errColumns},
		"another header": {"user;asset;chain;address;amount;priority\n" + good, 1, errColumns},
		"a long line":    {header + good + strings.Repeat("x", maxLine+1) + "\n", 3, errTooLong},
		"too many lines": {many, maxRows + 1, errTooMany},
		"no line breaks": {strings.Repeat("x", 10*maxLine), 1, errTooLong},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readBatch("b", strings.NewReader(c.text))
			var e *RowError
			if !errors.As(err, &e) || e.Line != c.line || !errors.Is(err, c.err) {
				t.Errorf("%v, want line %d: %v", err, c.line, c.err)
			}
		})
	}
	if _, _, err := openBatch("no such file"); err == nil {
		t.Error("a file that does not exist is read")
	}
}

func ids(t *testing.T, name, text string) (ids []uuid.UUID) {
	t.Helper()
	rows, refused, err := readBatch(name, strings.NewReader(text))
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	for _, r := range rows {
		ids = append(ids, r.Request)
	}
	return ids
}

func TestRequestIDs(t *testing.T) {
	other := strings.Replace(good, "ann", "bea", 1)
	a := ids(t, "b", header+good+good)
	if a[0] == a[1] {
		t.Error("two equal rows are one payment")
	}
	if b := ids(t, "b", "\ufeff"+strings.ReplaceAll(header+good+good, "\n", "\r\n")); !slices.Equal(a, b) {
		t.Error("the same rows have other ids")
	}
	if b := ids(t, "b", header+other+good+other+good); b[1] != a[0] || b[3] != a[1] {
		t.Error("rows that were added in between change the ids of the others")
	}
	if b := ids(t, "c", header+good); b[0] == a[0] {
		t.Error("another batch has the same id")
	}
}

// naiveApprovals counts the sample's approvals row by row.
func naiveApprovals(rows []row) (needed [3]int) {
	sums := map[string]withdrawal.Raw{}
	for _, r := range rows {
		_, raw, _ := withdrawal.ParseAmount(r.Amount, assets[r.Asset].decimals)
		unit := "1" + strings.Repeat("0", int(assets[r.Asset].decimals))
		above := func(whole string) bool { return raw.Cmp(withdrawal.Raw(whole+unit[1:])) > 0 }
		key := r.User + r.Asset
		sum := sums[key].Add(raw)
		sums[key] = sum
		n := 0
		switch {
		case r.Asset == "USDX" && above("10000"), r.Asset == "ETHX" && above("10"):
			n = 2
		case r.Asset == "USDX" && (above("1000") || sum.Cmp("5000000000") > 0), r.Asset == "ETHX" && above("1"):
			n = 1
		}
		needed[n]++
	}
	return needed
}

func TestSampleHasEverything(t *testing.T) {
	rows, refused, err := openBatch("")
	if err != nil {
		t.Fatal(err)
	}
	needed := naiveApprovals(rows)
	if len(rows)+len(refused) != 300 || len(refused) == 0 || needed[1] == 0 || needed[2] == 0 {
		t.Errorf("%d rows, %d refused, approvals %v", len(rows), len(refused), needed)
	}
}

func FuzzReadBatch(f *testing.F) {
	f.Add(header + good + good)
	f.Add(sampleBatch[:2000])
	f.Add(header + "\"a\",,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, refused, err := readBatch("f", strings.NewReader(text))
		if err != nil {
			return
		}
		lines := 0
		for _, l := range strings.Split(text, "\n")[1:] {
			if strings.TrimSuffix(l, "\r") != "" {
				lines++
			}
		}
		if len(rows)+len(refused) != lines {
			t.Errorf("%d rows and %d refused of %d lines", len(rows), len(refused), lines)
		}
		seen := map[uuid.UUID]bool{}
		for _, r := range rows {
			if seen[r.Request] {
				t.Errorf("line %d has the id of another", r.Line)
			}
			seen[r.Request] = true
			if _, _, err := withdrawal.ParseAmount(r.Amount, assets[r.Asset].decimals); err != nil {
				t.Error(err)
			}
		}
	})
}

// generated is a batch of n good rows.
func generated(n int) string {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		fmt.Fprintf(&b, "user-%d,%s,demo,0x%040x,%d.%d,%s\n", i%97, []string{"USDX", "ETHX"}[i%2], i+1, i%3, i%9+1, []string{"low", "normal", "high"}[i%3])
	}
	return b.String()
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
)

// report is what was done and proved.
type report struct {
	Relays  int         `json:"relays"`
	Kills   int         `json:"kills"` // of reactors
	Rows    []relayRow  `json:"syncs"`
	Tenants []tenantRow `json:"tenants"`
	Checks  int         `json:"checks"`
	Broken  []string    `json:"broken,omitempty"`
}

type relayRow struct {
	Relay     string `json:"relay"`
	Status    string `json:"status"`
	Synced    bool   `json:"synced"`
	Syncs     int    `json:"syncs"`
	Failures  int    `json:"failures"`
	Takeovers int    `json:"takeovers"` // of what a killed reactor held
	Follows   int    `json:"follows"`   // syncs after a request without an answer
	Posts     int    `json:"posts"`
}

type tenantRow struct {
	Tenant       string `json:"tenant"`
	Status       string `json:"status"`
	Invoices     int    `json:"invoices"`
	Paid         int    `json:"paid"`
	Charges      int    `json:"charges"`
	Messages     int    `json:"messages"`
	ChurnedAfter string `json:"churned_after,omitempty"`
}

// check notes a rule of the proof, and that it is broken.
func (h *host) check(holds bool, format string, args ...any) {
	h.report.Checks++
	if !holds {
		h.report.Broken = append(h.report.Broken, fmt.Sprintf(format, args...))
	}
}

// conclude prints the report, and is an error where a rule of the proof is broken.
func (r *report) conclude(asJSON bool, w io.Writer) (err error) {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		err = e.Encode(r)
	} else {
		err = r.print(w)
	}
	if len(r.Broken) > 0 {
		err = errors.Join(err, fmt.Errorf("the proof fails: %d rules are broken", len(r.Broken)))
	}
	return err
}

func (r *report) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "relay\tstatus\tsynced\tsyncs\tfailures\ttakeovers\tfollow-ups\tPOSTs at the server")
	for _, x := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%v\t%d\t%d\t%d\t%d\t%d\n", x.Relay, x.Status, x.Synced, x.Syncs, x.Failures, x.Takeovers, x.Follows, x.Posts)
	}
	fmt.Fprintln(t, "\ntenant\tstatus\tinvoices\tpaid\tcharges\tmessages\tchurned after")
	for _, x := range r.Tenants {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", x.Tenant, x.Status, x.Invoices, x.Paid, x.Charges, x.Messages, x.ChurnedAfter)
	}
	fmt.Fprintf(t, "\n%d relays, %d reactors were killed; %d checks", r.Relays, r.Kills, r.Checks)
	if len(r.Broken) == 0 {
		fmt.Fprintln(t, ": every relay is at the server as it was changed last, with its first secret; nobody paid twice")
	} else {
		fmt.Fprintf(t, ", %d BROKEN:\n", len(r.Broken))
		for _, text := range r.Broken {
			fmt.Fprintln(t, " ", text)
		}
	}
	return t.Flush()
}

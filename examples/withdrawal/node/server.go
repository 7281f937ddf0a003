package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxMessage bounds a request and a response, in bytes.
const maxMessage = 64 << 10

// slowest is when a slow answer comes at last.
const slowest = 30 * time.Second

// Codes of [Error]. The first two are JSON-RPC's own.
const (
	CodeMethod      = -32601
	CodeInvalid     = -32602
	CodeBusy        = -32005
	CodeNonceTooLow = -32010
	CodeUnderpriced = -32011
	CodeFunds       = -32012
)

// Error is an answer of the node: it did not do what was asked.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	return fmt.Sprintf("the node refused: %.200s (%d)", e.Message, e.Code)
}

type request struct {
	Version string          `json:"jsonrpc"`
	ID      uint64          `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type response struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Result  any    `json:"result,omitempty"`
	Error   *Error `json:"error,omitempty"`
}

// Status of the node.
type Status struct {
	Genesis  string `json:"genesis"`
	Started  int64  `json:"started"` // unix nanoseconds; Counts are since then
	Head     uint64 `json:"head"`
	GasPrice uint64 `json:"gasPrice"` // what is mined now
	Mempool  int    `json:"mempool"`
	Counts   Counts `json:"counts"`
}

// Account is the state of an address at the head.
type Account struct {
	Nonce    uint64            `json:"nonce"` // of its next transaction to be mined
	Balances map[string]string `json:"balances"`
}

// Found is what the chain says of a transaction: not known, in the mempool
// (Height 0), or in a block. Head and Canonical were read together with it.
type Found struct {
	Known     bool   `json:"known"`
	Hash      string `json:"hash,omitempty"`
	Height    uint64 `json:"height,omitempty"`
	Block     string `json:"block,omitempty"`
	Canonical string `json:"canonical,omitempty"` // the chain's block at Height
	Head      uint64 `json:"head"`
	Reverted  bool   `json:"reverted,omitempty"`
	GasUsed   uint64 `json:"gasUsed,omitempty"`
	GasPrice  uint64 `json:"gasPrice,omitempty"`
	Tx        *Tx    `json:"tx,omitempty"` // what it transfers, once it is mined; nothing, if it is absent
}

// ServeHTTP answers JSON-RPC 2.0 calls.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	var call request
	if err == nil {
		err = json.Unmarshal(body, &call)
	}
	if r.Method != http.MethodPost || err != nil {
		http.Error(w, "a JSON-RPC call of at most 64 KiB is needed", http.StatusBadRequest)
		return
	}
	answer := response{Version: "2.0", ID: call.ID}
	var end fate
	answer.Result, end, err = n.call(call.Method, call.Params)
	if err != nil {
		answer.Result = nil
		answer.Error = &Error{CodeInvalid, err.Error()}
		if e, ok := err.(*Error); ok {
			answer.Error = e
		}
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(answer); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	switch end {
	case slow:
		select {
		case <-r.Context().Done():
		case <-time.After(slowest):
		}
	case lost:
		panic(http.ErrAbortHandler)
	case garbled:
		text.Truncate(text.Len() / 2)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text.Bytes()) // the caller may be gone
}

// call does what is asked, and says how it ends.
func (n *Node) call(method string, params json.RawMessage) (result any, end fate, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failed != nil {
		return nil, answered, n.failed
	}
	switch method { // the observer's: never wrong
	case "status":
		return Status{n.chain.Genesis.ID, n.started, n.chain.Head(), n.fee(), len(n.pool), n.counts}, answered, nil
	case "misbehave":
		var f Faults
		if err := json.Unmarshal(params, &f); err != nil {
			return nil, answered, err
		}
		n.config.Faults = f
		return true, answered, nil
	}
	if end = n.fate(); end == refused {
		return nil, answered, refuse(CodeBusy, "the node is busy")
	}
	var p struct {
		Raw     json.RawMessage `json:"raw"`
		Hash    string          `json:"hash"`
		Address string          `json:"address"`
		Nonce   uint64          `json:"nonce"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, end, err
	}
	switch method {
	case "account":
		a := Account{Nonce: n.chain.nonces[p.Address], Balances: map[string]string{}}
		for asset, v := range n.chain.balances[p.Address] {
			a.Balances[asset] = v.String()
		}
		return a, end, nil
	case "send":
		hash, err := n.accept(p.Raw)
		return hash, end, err
	case "transaction":
		return n.find(p.Hash), end, nil
	case "nonce":
		return n.find(n.chain.spent[slot{p.Address, p.Nonce}]), end, nil
	}
	return nil, end, refuse(CodeMethod, "there is no method %.50q", method)
}

func (n *Node) find(hash string) Found {
	f := Found{Head: n.chain.Head()}
	if place, ok := n.chain.mined[hash]; ok {
		f.Known, f.Hash, f.Height, f.Block, f.Reverted = true, hash, place.Height, place.Block, place.Reverted
		f.Canonical = n.chain.BlockHash(place.Height)
		if !place.Foreign {
			f.GasUsed, f.GasPrice, f.Tx = place.Tx.gas(), place.Tx.GasPrice, &place.Tx
		}
		return f
	}
	for _, p := range n.pool {
		if p.hash == hash {
			f.Known, f.Hash = true, hash
		}
	}
	return f
}

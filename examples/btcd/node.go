package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"
)

// rpc speaks JSON-RPC with a btcd.
type rpc struct{ address string }

const rpcUser, rpcPassword = "example", "example" // of nodes on the loopback

// rpcError is an answer of the node; any other error is none.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("node: %s (%d)", e.Message, e.Code) }

func (r rpc) call(ctx context.Context, method string, result any, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "1.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(rpcUser, rpcPassword)
	resp, err := http.DefaultClient.Do(req) // for as long as ctx lasts: a node on a busy machine is slow, and one that is killed hangs up
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer := struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}{}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: status %s: %w", method, resp.Status, err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

// tip returns the best block.
func (r rpc) tip(ctx context.Context) (height int32, hash chainhash.Hash, err error) {
	var best struct {
		Height int32  `json:"height"`
		Hash   string `json:"hash"`
	}
	if err = r.call(ctx, "getbestblock", &best); err == nil {
		err = chainhash.Decode(&hash, best.Hash)
	}
	return best.Height, hash, err
}

// hashAt returns the block of the best chain at a height.
func (r rpc) hashAt(ctx context.Context, height int32) (hash chainhash.Hash, err error) {
	var text string
	if err = r.call(ctx, "getblockhash", &text, height); err == nil {
		err = chainhash.Decode(&hash, text)
	}
	return hash, err
}

func (r rpc) block(ctx context.Context, hash chainhash.Hash) (*wire.MsgBlock, error) {
	block := new(wire.MsgBlock)
	return block, r.fetch(ctx, block, "getblock", hash.String(), 0)
}

// transaction returns one of the mempool.
func (r rpc) transaction(ctx context.Context, hash chainhash.Hash) (*wire.MsgTx, error) {
	tx := new(wire.MsgTx)
	return tx, r.fetch(ctx, tx, "getrawtransaction", hash.String(), 0)
}

func (r rpc) fetch(ctx context.Context, into interface{ Deserialize(io.Reader) error }, method string, params ...any) error {
	var text string
	if err := r.call(ctx, method, &text, params...); err != nil {
		return err
	}
	raw, err := hex.DecodeString(text)
	if err != nil {
		return err
	}
	return into.Deserialize(bytes.NewReader(raw))
}

// mempool lists the transactions that the node holds.
func (r rpc) mempool(ctx context.Context) (hashes []chainhash.Hash, err error) {
	var texts []string
	if err := r.call(ctx, "getrawmempool", &texts); err != nil {
		return nil, err
	}
	for _, text := range texts {
		var hash chainhash.Hash
		if err := chainhash.Decode(&hash, text); err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// send hands a transaction to the network. That the node has it is a success.
func (r rpc) send(ctx context.Context, tx *wire.MsgTx) error {
	var raw bytes.Buffer
	if err := tx.Serialize(&raw); err != nil {
		return err
	}
	err := r.call(ctx, "sendrawtransaction", nil, hex.EncodeToString(raw.Bytes()), true)
	if answer := (*rpcError)(nil); errors.As(err, &answer) && strings.Contains(answer.Message, "already have transaction") {
		return nil
	}
	return err
}

// node keeps a btcd running: one that ends is started again.
type node struct {
	rpc
	args []string
	log  string

	mu    sync.Mutex
	end   io.Closer // of the input of its keeper
	kills int
}

// newNode describes a regtest node that mines for an address and connects to
// another, if these are not empty.
func newNode(binary, dir, name, mineFor, connect string) (*node, string, error) {
	ports := make([]string, 2)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, "", err
		}
		ports[i] = l.Addr().String()
		l.Close()
	}
	data := filepath.Join(dir, name)
	n := &node{rpc: rpc{ports[1]}, log: filepath.Join(dir, name+".log"), args: []string{
		binary, "--regtest", "--notls", "--nodnsseed", "--nobanning", "--trickleinterval=10ms", "--configfile=" + filepath.Join(dir, "none.conf"),
		"--rpcuser=" + rpcUser, "--rpcpass=" + rpcPassword, "--datadir=" + data, "--logdir=" + data, "--rpclisten=" + ports[1],
	}}
	if mineFor != "" {
		n.args = append(n.args, "--miningaddr="+mineFor, "--listen="+ports[0])
	}
	if connect != "" {
		n.args = append(n.args, "--connect="+connect)
	}
	return n, ports[0], nil
}

func (n *node) keep(ctx context.Context) {
	for ctx.Err() == nil {
		_ = n.once(ctx)
		pause(ctx, 50*time.Millisecond)
	}
}

func (n *node) once(ctx context.Context) error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"node"}, n.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	end, err := startBound(cmd)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.end = end
	n.mu.Unlock()
	err = cmd.Wait()
	_ = end.Close()
	return err
}

// kill ends the node as a crash does. It has what it wrote to disk so far.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.end != nil && n.end.Close() == nil { // its keeper kills it
		n.kills++
	}
}

// buildNode builds btcd from the module that go.mod names.
func buildNode(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "btcd-node")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/btcsuite/btcd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build btcd: %w\n%s", err, out)
	}
	return binary, nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

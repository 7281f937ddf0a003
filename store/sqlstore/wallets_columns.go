package sqlstore

import (
	"fmt"

	"github.com/btcsuite/btcd/chainhash/v2"

	"github.com/settlehq/settle/statemachine"
	"github.com/settlehq/settle/utxo"
)

// hashColumn reads a hash; NULL is the zero hash.
type hashColumn chainhash.Hash

func (c *hashColumn) Scan(src any) error {
	if src == nil {
		*c = hashColumn{}
		return nil
	}
	if b, ok := src.([]byte); !ok || copy(c[:], b) != len(c) || len(b) != len(c) {
		return fmt.Errorf("%w: a hash has 32 bytes", statemachine.ErrCorrupt)
	}
	return nil
}

// heightColumn reads the height of a block; NULL is [utxo.Unconfirmed].
type heightColumn int32

func (c *heightColumn) Scan(src any) error {
	if src == nil {
		*c = heightColumn(utxo.Unconfirmed)
		return nil
	}
	n, err := integer(src)
	*c = heightColumn(n)
	return err
}

// indexColumn reads the number of an input or output.
type indexColumn uint32

func (c *indexColumn) Scan(src any) error {
	n, err := integer(src)
	*c = indexColumn(n)
	return err
}

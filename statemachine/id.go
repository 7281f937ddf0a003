package statemachine

import (
	"strconv"

	"github.com/google/uuid"
)

// ids is the namespace of [ID]. It never changes, since no id that a host has stored may.
var ids = uuid.UUID{0x7a, 0x0c, 0x52, 0x6e, 0x3b, 0x1d, 0x4e, 0x8f, 0x9a, 0x61, 0x5d, 0x0e, 0x24, 0xc7, 0xb3, 0x98}

// ID makes the id of something for which a host has another name than a UUID, such as a user with a
// number in the host's own table (the text is then its digits) or a chain with a name. The id is a
// UUID of version 5, RFC 9562 section 5.5: the same kind and text give the same id in every process
// and every release, and another kind or text gives another id. Texts are compared byte by byte:
// "BTC" and "btc" have different ids.
//
// The kind, such as "user", keeps user 7 and asset 7 apart. A host that holds several customers'
// books in one database makes the customer a part of the text.
func ID(kind, text string) uuid.UUID {
	return uuid.NewSHA1(ids, []byte(strconv.Itoa(len(kind))+"/"+kind+"/"+text))
}

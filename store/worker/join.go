package worker

import "time"

// Join returns hooks that call each of the given ones, in their order, so that metrics do not
// take the place of the host's own. If one panics, those behind it are not called.
func Join[W, R any](hooks ...Hooks[W, R]) Hooks[W, R] {
	return Hooks[W, R]{
		Claimed: func(i Item[W]) {
			for _, h := range hooks {
				if h.Claimed != nil {
					h.Claimed(i)
				}
			}
		},
		Stored: func(i Item[W], sinceClaim time.Duration) {
			for _, h := range hooks {
				if h.Stored != nil {
					h.Stored(i, sinceClaim)
				}
			}
		},
		Lost: func(i Item[W], err error) {
			for _, h := range hooks {
				if h.Lost != nil {
					h.Lost(i, err)
				}
			}
		},
		Refused: func(i Item[W], r R, err error) {
			for _, h := range hooks {
				if h.Refused != nil {
					h.Refused(i, r, err)
				}
			}
		},
		Turned: func(stored, claimed int, took time.Duration, err error) {
			for _, h := range hooks {
				if h.Turned != nil {
					h.Turned(stored, claimed, took, err)
				}
			}
		},
	}
}

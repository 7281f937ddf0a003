package statemachine

// Move takes one step of a record along its table. It sets the status, adds one to the version
// and writes into line what the audit trail needs of both: Machine, Version, From, Trigger and
// To. The caller sets the other fields of line. A step that the table refuses is [ErrIllegal] and
// changes nothing. Move allocates nothing.
//
// A domain sets a status or a version only through Move, so each version of a record has its
// line.
func Move[ID comparable, S, T Label](m *Machine[S, T], status *S, version *int64, on T, line *Transition[ID]) error {
	from := *status
	to, err := m.Step(from, on)
	if err != nil {
		return err
	}
	*status = to
	*version++
	line.Machine, line.Version, line.Trigger, line.To = m.name, *version, on.String(), to.String()
	line.From = ""
	if from != 0 {
		line.From = from.String()
	}
	return nil
}

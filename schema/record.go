package schema

// record is the members of an object in their order. Of a key that is repeated, however it is spelled, the last value
// stands at the first one's place. Its zero value is an object without members.
type record struct {
	members []member
	index   map[string]int // by name; nil while there are few
}

type member struct {
	key   []byte // as it is written, with its quotes
	name  []byte // what the key stands for
	value place
	end   int // offset behind the value
}

// few is how many members are found faster by looking at each than by a map.
const few = 16

// find returns the number of the member with that name, or -1.
func (r *record) find(name []byte) int {
	if r.index != nil {
		if i, ok := r.index[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range r.members {
		if string(r.members[i].name) == string(name) {
			return i
		}
	}
	return -1
}

func (r *record) get(name string) (place, bool) {
	if i := r.find([]byte(name)); i >= 0 {
		return r.members[i].value, true
	}
	return place{}, false
}

func (r *record) set(m member) {
	if i := r.find(m.name); i >= 0 {
		r.members[i].value, r.members[i].end = m.value, m.end
		return
	}
	r.members = append(r.members, m)
	switch {
	case r.index != nil:
		r.index[string(m.name)] = len(r.members) - 1
	case len(r.members) == few:
		r.index = make(map[string]int, 2*few)
		for i := range r.members {
			r.index[string(r.members[i].name)] = i
		}
	}
}

package rank

import "strings"

// filler is what questions consist of and tools are not told apart by.
const filler = `a about above after again all also am an and any are as at be been before being but by
can could did do does down for from had has have he her him his how i if in into is it its just let
like me more most my need no not now of off on once one only or other our out over own please same she
should so some such than that the their them then there these they this those through to too under up us
very want was we were what when where which while who whom whose why will with would you your
tell know known everything something anything somebody someone anybody thing called named give given another certain else much`

// alike are words of the trade that stand for one another, a group a line.
const alike = `directory folder dir
delete remove erase drop destroy discard clear uninstall
create make new add
create build generate
write save store put
get fetch retrieve download
read view show display see look
search find locate lookup look seek
list enumerate
update edit modify change alter
send post
reply answer respond
image picture photo media
video film recording
repository repo
issue bug ticket
document doc
execute run exec
command shell terminal
configuration config option preference
database db
user person people account member
copy duplicate clone
move relocate transfer
stop end finish halt
close end finish
start begin launch
connect connection link
relation relationship link
graph chart diagram plot
upload attach
website site webpage
browser chrome
javascript js
typescript ts
kubernetes k8s
authenticate login signin auth
password credential secret
email mail
schedule calendar
time clock hour timezone
statistic stat metric
log history
error failure fault exception
permission access right
allow permit grant
summary overview
size big large small
fast slow speed performance
multiple several many batch bulk
simulate emulate imitate
advice recommendation suggestion hint
near nearby close around
route way path
location place position
picture screenshot
color colour theme scheme
version release
environment env
message chat
comment note remark
select choose switch pick
rename name
press hit push
verify check validate test`

// vocabulary is the lists, by stem.
type vocabulary struct {
	filler map[string]bool
	alike  map[string][]string // the others of its line
}

// newVocabulary reads the lists: once an index, so that the package has no state.
func newVocabulary() vocabulary {
	v := vocabulary{filler: map[string]bool{}, alike: map[string][]string{}}
	for _, w := range strings.Fields(filler) {
		v.filler[stem(w)] = true
	}
	for line := range strings.Lines(alike) {
		group := strings.Fields(line)
		for i, w := range group {
			for j, other := range group {
				if i != j {
					v.alike[stem(w)] = append(v.alike[stem(w)], stem(other))
				}
			}
		}
	}
	return v
}

# Ends what a program that has died leaves running. While the program lives, it
# sends "+ID" and "-ID", and "?", which is answered. "=SECONDS PID:START MARK" ends a
# child after that time unless the line comes again; 0 is never. When the pipe ends the
# program is dead, and each of its children has executed: until then a child
# holds the pipe too. An ID is PID:START of the leader of a group, which may lead a
# session too, or a mark. $1 is the start time of the program, "" where there is no
# /proc of Linux.
since=$1
trap '' HUP INT QUIT TERM TSTP PIPE

# look reads what a process is: its state, group, session and start time.
look() {
	state='' group='' session='' start=''
	read -r stat <"/proc/$1/stat" || return
	set -- ${stat##*")" }
	state=$1 group=$3 session=$4 start=${20}
}

# ours reports whether a process lives and is in one of the groups or sessions, or carries
# one of the marks. A group whose leader has another start time is someone else's.
ours() {
	look "$1" || return
	case $state in '' | Z | X) return 1 ;; esac
	if [ "$start" -lt "$since" ]; then return 1; fi
	for leader in "$session" "$group"; do
		case $live in *" $leader:"*)
			if ! look "$leader"; then return 0; fi
			case $live in *" $leader:$start "*) return 0 ;; esac
			;;
		esac
	done
	[ -r "/proc/$1/environ" ] || return
	mark=$(tr '\n\0' ' \n' <"/proc/$1/environ" | sed -n 's/^INDUS_WATCH=//p') # a value may have lines
	case $live in *" ${mark:-?} "*) ;; *) return 1 ;; esac
}

# signal sends a signal to all that is left, and fails where nothing is.
signal() {
	left=1
	if [ "$since" ]; then
		for dir in /proc/[0-9]*; do
			if ours "${dir#/proc/}" && kill -s "$1" "${dir#/proc/}"; then left=0; fi
		done
	else
		for id in $live; do
			case $id in *:*) kill -s "$1" -- "-${id%:*}" && left=0 ;; esac
		done
	fi
	return $left
}

# arm kills a group and what carries its mark after a time, unless it is called again before. It
# compares the start time, because another program may have the number of the group by then.
arm() {
	pid=${2%%:*}
	eval "timer=\${timer_$pid:-}"
	if [ "$timer" ]; then
		kill -s KILL "$timer"
		wait "$timer" # or it stays a zombie
	fi
	eval "timer_$pid="
	if [ "$1" = 0 ]; then return; fi
	(
		sleep "$1"
		start=''
		if [ "$since" ]; then look "$pid"; fi
		if [ "$pid:$start" = "$2" ]; then kill -s KILL -- "-$pid"; fi
		live=" $2 $3 "
		signal KILL
	) >/dev/null &
	eval "timer_$pid=$!"
}

live=' '
while read -r line; do
	id=${line#?}
	case $line in
	'?') echo ;;
	=*[!0-9A-Z:.\ ]*) ;;
	=?*) arm $id ;;
	+*[!0-9A-Z:]* | -*[!0-9A-Z:]*) ;;
	+?*) live="$live$id " ;;
	-?*) case $live in *" $id "*) live="${live%% $id *} ${live#* $id }" ;; esac ;;
	esac
done
if [ "$live" = ' ' ]; then exit; fi

# The second look also finds what had just executed and had no environment yet.
signal TERM
sleep 1
for try in 1 2 3 4 5 6 7 8 9 10; do
	if ! signal KILL; then exit; fi
	sleep 1
done

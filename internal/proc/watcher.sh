# Kills the process groups of a program that has died. It reads "+PGID" and
# "-PGID" while the program lives; when the pipe ends, the program has.
trap '' HUP INT QUIT TERM TSTP
live=' '
while read -r line; do
	id=${line#?}
	case $id in '' | *[!0-9]*) continue ;; esac
	case $line in
	+*) live="$live$id " ;;
	-*) case $live in *" $id "*) live="${live%% $id *} ${live#* $id }" ;; esac ;;
	esac
done
if [ "$live" = ' ' ]; then exit; fi
for id in $live; do kill -s TERM -- "-$id"; done
sleep 1
for id in $live; do kill -s KILL -- "-$id"; done

# Ends the processes of `npm start` after it has ended or was killed, which closes its pipe to standard input. Each line of
# standard input names all process groups that run now. The arguments are the folders to remove.
trap '' HUP INT TERM
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group"; done
# A second try, for a process that was still writing.
rm -rf -- "$@" || { sleep 1; rm -rf -- "$@"; }

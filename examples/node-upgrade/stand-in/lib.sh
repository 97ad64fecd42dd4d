# For the stand-ins of kubectl and ssh: they take their time and write down what they did.
#
# NODE_UPGRADE_STAND_IN        a folder; its file `record` gets a line per begin and end:
#                              milliseconds, node, what, begin or end
# NODE_UPGRADE_MINUTE_MS       how long a minute of the real work takes here; 200 unless given

note() { # NODE WHAT begin|end
  # One short line, appended at once: the order of the file is the order of what happened.
  echo "$(date +%s%3N) $1 $2 $3" >>"$NODE_UPGRADE_STAND_IN/record"
}

# As long as so many minutes, a third more or less: no two nodes are alike, and each is the same every time.
pass() { # NODE WHAT MINUTES
  spread=$(($(printf '%s %s' "$1" "$2" | cksum | cut -d ' ' -f 1) % 67 - 33))
  ms=$(($3 * ${NODE_UPGRADE_MINUTE_MS:-200} * (100 + spread) / 100))
  sleep "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
}

work() { # NODE WHAT MINUTES
  note "$1" "$2" begin
  pass "$1" "$2" "$3"
  note "$1" "$2" end
}

module compose

go 1.24

require github.com/compose-spec/compose-go/v2 v2.9.1

module victims

go 1.19

module record

go 1.25

%%born stations
%%make stations_go

%%born sim
module example.org/tidewatch/gauge/tools/gaugesim

go 1.18

require example.org/tidewatch/hub v«hub»

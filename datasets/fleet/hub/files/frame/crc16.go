%%born crc
%%moved frame-public internal/frame/crc16.go
package frame

%%if crc-table
var crcTable = makeTable(0x1021)

func makeTable(poly uint16) (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for bit := 0; bit < 8; bit++ {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ poly
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}

%%end
// CRC16 computes CRC-16/CCITT-FALSE, as crc16() in the gauge does.
func CRC16(data []byte) uint16 {
	crc := uint16(0xFFFF)
	for _, b := range data {
%%if crc-table
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
%%else
		crc ^= uint16(b) << 8
		for bit := 0; bit < 8; bit++ {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
%%end
	}
	return crc
}

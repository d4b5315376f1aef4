%%born frames-package
/** Frames as gauges send them; the layout is tidewire.h of the gauge. */

export const FRAME_MAGIC = 0x71de;
export const FRAME_SIZE = 13;

export interface Frame {
  station: number;
  minute: number;
  levelMm: number;
%%if suspect
  /** The gauge itself does not trust this reading. */
  suspect: boolean;
%%end
}

export class ChecksumError extends Error {
  constructor(readonly got: number, readonly want: number) {
    super(`checksum mismatch: got ${got.toString(16)}, want ${want.toString(16)}`);
  }
}

/** CRC-16/CCITT-FALSE. */
export function crc16(data: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of data) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
    }
  }
  return crc;
}

/** Read a frame from the head of the data. */
export function decodeFrame(data: Uint8Array): Frame {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < FRAME_SIZE || view.getUint16(0) !== FRAME_MAGIC) {
    throw new RangeError('no frame');
  }
  const want = view.getUint16(11);
  const got = crc16(data.subarray(0, 11));
  if (got !== want) {
    throw new ChecksumError(got, want);
  }
  const minute = view.getUint32(5);
  return {
    station: view.getUint16(3),
%%if suspect
    minute: minute & 0x7fffffff,
    levelMm: view.getInt16(9),
    suspect: minute >>> 31 === 1,
%%else
    minute,
    levelMm: view.getInt16(9),
%%end
  };
}

%%born frames-package
%%if vitest
import { expect, test } from 'vitest';

%%end
import { crc16, decodeFrame, FRAME_MAGIC } from './index';

test('the check string has the published CRC', () => {
  expect(crc16(new TextEncoder().encode('123456789'))).toBe(0x29b1);
});

test('noise is no frame', () => {
  expect(FRAME_MAGIC).toBe(0x71de);
  expect(() => decodeFrame(new Uint8Array(13))).toThrow('no frame');
});

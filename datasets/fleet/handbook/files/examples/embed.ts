%%born embed
// Decode a recorded frame in a page of your own.
import { ChecksumError, decodeFrame } from '@tidewatch/frames';

export async function showLevel(url: string, place: HTMLElement): Promise<void> {
  const data = new Uint8Array(await (await fetch(url)).arrayBuffer());
  try {
    place.textContent = `${decodeFrame(data).levelMm} mm`;
  } catch (error) {
    place.textContent = error instanceof ChecksumError ? 'damaged' : 'no frame';
  }
}

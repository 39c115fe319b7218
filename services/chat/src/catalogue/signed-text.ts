import { boundedText } from './bounded-text.ts';

export const maxPriceBytes = 8 * 1024 * 1024;
export const maxSignatureBytes = 1_024;

/** A list of prices, and its signature in base64; empty without a key for it. */
export interface Signed {
  signature: string;
  text: string;
}

/** Both in one text: the signature in the first line. */
export function signedText({ signature, text }: Signed): string {
  return `${signature.replaceAll(/\s/g, '')}\n${text}`;
}

/** Reverses `signedText`. */
export function readSigned(signed: string): Signed {
  const end = signed.indexOf('\n');
  return { signature: signed.slice(0, end), text: signed.slice(end + 1) };
}

/** Reads a file, and its signature in the file beside it. Throws a `CatalogueError` that names the file. */
export async function signedFile(file: string, hasKey: boolean): Promise<string> {
  const text = await boundedText(file, maxPriceBytes);
  return signedText({ signature: hasKey ? await boundedText(`${file}.sig`, maxSignatureBytes) : '', text });
}

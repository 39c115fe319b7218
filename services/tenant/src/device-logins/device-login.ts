import { randomBytes } from 'node:crypto';

/** The values of a new login. It holds the hashes of its codes, never the codes. */
export interface NewDeviceLogin {
  id: string;
  deviceSha256: Buffer;
  userSha256: Buffer;
  /** As the program calls itself. */
  clientId: string;
  clientIp: string | null;
  /** Waiting programs are counted by the network, and share places by the wide one. */
  network: string;
  wideNetwork: string;
}

/** The reason why a login was not added. */
export type TooManyWait = 'ofNetwork' | 'ofAll';

/** A login, as its program polls it. */
export interface PolledLogin {
  id: string;
  state: 'waiting' | 'allowed' | 'denied' | 'expired';
  /** The tenant of the session that allowed it; null for an owner's session. */
  tenantId: string | null;
  /** Whether the poll before was less than the interval ago, by a second of tolerance. */
  isEarly: boolean;
}

/** A program waiting for a person. */
export interface WaitingProgram extends Pick<NewDeviceLogin, 'id' | 'clientId' | 'clientIp'> {
  createdAt: Date;
}

/** Letters that are easy to distinguish and spell no words (RFC 8628 §6.1): 34 bits in eight of them. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const codeLength = 8;
const isCode = new RegExp(`^[${letters}]{${codeLength}}$`);

/** A code for a person to read and type, like `BCDF-GHJK`. */
export function newUserCode(): string {
  let code = '';
  while (code.length < codeLength) {
    // 240 is a multiple of 20.
    for (const byte of randomBytes(codeLength))
      if (byte < 240 && code.length < codeLength) code += letters.charAt(byte % letters.length);
  }
  return formatCode(code);
}

/** A code as people type it, in the form in which it was shown; null for an invalid text. */
export function readUserCode(text: string): string | null {
  const code = text.toUpperCase().replaceAll(/[\s-]/g, '');
  return isCode.test(code) ? formatCode(code) : null;
}

function formatCode(code: string): string {
  return `${code.slice(0, codeLength / 2)}-${code.slice(codeLength / 2)}`;
}

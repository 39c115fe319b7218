import { hash, randomBytes } from 'node:crypto';

/** How long a link logs in: it is printed where a person waits for it. */
export const loginTicketSeconds = 60;

export interface LoginTicket {
  /** 256 random bits, in the link and nowhere else. */
  ticket: string;
  ticketSha256: Buffer;
}

export function newLoginTicket(): LoginTicket {
  const ticket = randomBytes(32).toString('base64url');
  return { ticket, ticketSha256: hash('sha256', ticket, 'buffer') };
}

/** Null for a text that can be no ticket. */
export function loginTicketSha256(text: string): Buffer | null {
  return /^[\w-]{43}$/.test(text) ? hash('sha256', text, 'buffer') : null;
}

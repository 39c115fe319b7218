import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const deriveKey = promisify(pbkdf2);
const keyLength = 32;

/** PostgreSQL's own number, and RFC 7677's least. */
const iterations = 4096;

/**
 * What PostgreSQL stores of a password and takes in its place, so that the password itself is in no statement and no
 * log: the verifier of SCRAM-SHA-256 (RFC 5802 section 3, RFC 7677), written as in RFC 5803. Of SASLprep it does the
 * normalisation only.
 */
export async function scramVerifier(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  const salted = await deriveKey(password.normalize('NFKC'), salt, iterations, keyLength, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

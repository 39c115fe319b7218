import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

const deriveKey = promisify(pbkdf2);
const keyLength = 32;

/** The default of PostgreSQL and the minimum of RFC 7677. */
const iterations = 4096;

/**
 * The SCRAM-SHA-256 verifier of a password (RFC 5802 section 3, RFC 7677), in the format of RFC 5803. PostgreSQL stores
 * verifiers and accepts them in place of passwords, so the password is in no statement and no log. Only the
 * normalisation of SASLprep is applied.
 */
export async function scramVerifier(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  const salted = await deriveKey(password.normalize('NFKC'), salt, iterations, keyLength, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

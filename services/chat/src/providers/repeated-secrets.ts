/** Shorter values of headers are no keys, and would be found in words. */
const shortestSecret = 8;
const mark = '[key]';

/** The secrets in the headers that prove a call: their values, without the name of a scheme. */
export function secretsIn(proof: Readonly<Record<string, string>>): string[] {
  return Object.values(proof)
    .map((value) => value.replace(/^(?:Bearer|Basic) +/i, ''))
    .filter(({ length }) => length >= shortestSecret);
}

/** A text of a provider without the secrets that it repeats, as they are or as JSON writes them. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets)
    for (const written of [
      secret,
      JSON.stringify(secret).slice(1, -1),
      secret.replaceAll('/', String.raw`\/`),
    ])
      clean = clean.replaceAll(written, mark);
  return clean;
}

/** Functions that the programs of the steps share. */

/** A setting that run.sh makes. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

/** Prints how a check ended: `holds` resolves to what is wrong, or null. */
export async function check(name: string, holds: () => Promise<string | null>): Promise<void> {
  const problem = await holds().catch((error: unknown) => String(error));
  console.log(problem === null ? `ok: ${name}` : `failed: ${name}: ${problem}`);
  if (problem !== null) process.exitCode = 1;
}

export const mustHold = (condition: boolean, otherwise: string): string | null =>
  condition ? null : otherwise;

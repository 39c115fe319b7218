/** Whether a host is one of these patterns: a name, or `*.` and a name for all hosts below it. No pattern: every host is. */
export function isNamedHost(patterns: readonly string[], host: string): boolean {
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  return patterns.length === 0 || patterns.some((pattern) => matches(pattern, name));
}

function matches(pattern: string, name: string): boolean {
  return pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern;
}

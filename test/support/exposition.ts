/** Metrics of processes: for each series, the values of each label. */
export type Exposed = Map<string, Map<string, Set<string>>>;

/** Parses the metrics of several processes (https://prometheus.io/docs/instrumenting/exposition_formats/) together. */
export function readExposition(texts: readonly string[]): Exposed {
  const exposed: Exposed = new Map();
  for (const line of texts.flatMap((text) => text.split('\n'))) {
    const [, family] = /^# TYPE (\S+)/.exec(line) ?? [];
    const [, series, labels] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? /.exec(line) ?? [];
    const name = family ?? series;
    if (name === undefined) continue;
    const known = exposed.get(name) ?? new Map<string, Set<string>>();
    exposed.set(name, known);
    for (const [, label = '', value = ''] of (labels ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g))
      known.set(label, (known.get(label) ?? new Set()).add(value));
  }
  return exposed;
}

/** The value of the sample with this name and these labels, in any order; undefined if there is none. */
export function valueOf(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const line = text
    .split('\n')
    .find(
      (each) =>
        each.startsWith(`${name}{`) &&
        Object.entries(labels).every(([label, value]) => each.includes(`${label}="${value}"`)),
    );
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

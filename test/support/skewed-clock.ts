/**
 * Preloaded into every process of a system. Shifts the wall clock of each chat replica by -45, 0 or 45 s, depending on
 * its process id. The monotonic clock stays unchanged.
 */
if (process.argv.some((argument) => argument.includes('services/chat/src/main'))) {
  const offset = ((process.pid % 3) - 1) * 45_000;
  const now = Date.now.bind(Date);
  Date.now = () => now() + offset;
  globalThis.Date = new Proxy(Date, {
    construct: (target, parts: unknown[]) =>
      Reflect.construct(target, parts.length === 0 ? [now() + offset] : parts) as Date,
  });
}

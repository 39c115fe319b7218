/**
 * Preloaded into every process of a system: the wall clock of each replica of chat is off by -45, 0 or 45 s, by its
 * process id. The monotonic clock is left alone.
 */
const isChat = process.argv.some((argument) => argument.includes('services/chat/src/main'));
if (isChat) {
  const offset = ((process.pid % 3) - 1) * 45_000;
  const now = Date.now.bind(Date);
  Date.now = () => now() + offset;
  globalThis.Date = class extends Date {
    constructor(...parts) {
      if (parts.length === 0) super(now() + offset);
      else super(...parts);
    }
  };
}

const probeMs = 5;

/**
 * The longest time in milliseconds for which `work` kept the event loop from taking a turn. Processor time of this
 * thread, so that other programs of the machine don't count.
 */
export async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  const note = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  };
  const probe = setInterval(note, probeMs);
  try {
    await work();
    note();
  } finally {
    clearInterval(probe);
  }
  return longest;
}

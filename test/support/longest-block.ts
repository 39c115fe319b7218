const probeMs = 5;

/** A collection of all garbage, which stops a worker of many test files for a second, is none of the work. */
const mostRuns = 3;

/**
 * The longest time in milliseconds for which `work` kept the event loop from taking a turn. Processor time of this
 * thread, so that other programs of the machine don't count. Work that took `mostMs` or more runs again, up to three times
 * in all, and the shortest of these times counts.
 */
export async function longestBlock(work: () => Promise<unknown>, mostMs = Infinity): Promise<number> {
  let shortest = await longestOf(work);
  for (let runs = 1; runs < mostRuns && shortest >= mostMs; runs += 1)
    shortest = Math.min(shortest, await longestOf(work));
  return shortest;
}

async function longestOf(work: () => Promise<unknown>): Promise<number> {
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

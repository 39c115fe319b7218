import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AnswerBudget, type AnswerRoom } from './answer-budget.ts';

const KiB = 1024;
const MiB = 1024 * KiB;
const perTenant = 4 * MiB;
const perProcess = 10 * MiB;

function setUp() {
  const clock = { now: 1_000 };
  const budget = new AnswerBudget({ perTenant, perProcess, now: () => clock.now });
  const cut: string[] = [];
  const resumed: string[] = [];
  const open = (tenantId: string, name = tenantId): AnswerRoom => {
    const room = budget.open(tenantId);
    room.reader = { onRoom: () => resumed.push(name) };
    room.client = {
      cut: () => {
        cut.push(name);
        room.close();
      },
    };
    return room;
  };
  return { budget, clock, cut, open, resumed };
}

describe('the memory of large answers', () => {
  it('is not counted for small ones', () => {
    const { open } = setUp();
    open('a').hold(perProcess);
    const rooms = Array.from({ length: 1_000 }, () => open('a'));
    expect(rooms.every((room) => room.hold(64 * KiB))).toBe(true);
  });

  it('makes a tenant’s next answer wait past the tenant’s limit, until the first is delivered', async () => {
    const { open, resumed } = setUp();
    const [first, second, other] = [open('a', 'first'), open('a', 'second'), open('b')];
    expect([first.hold(3 * MiB), second.hold(2 * MiB), other.hold(MiB)]).toEqual([true, false, true]);
    expect(first.hold(8 * MiB)).toBe(true);
    expect(resumed).toEqual([]);
    first.close();
    await Promise.resolve();
    expect(resumed).toEqual(['second']);
    expect(second.hold(64 * MiB)).toBe(true);
  });

  it('of one tenant takes room from others up to the tenant’s own limit alone', () => {
    const { open } = setUp();
    open('a').hold(64 * MiB);
    expect(['b', 'c'].map((tenant) => open(tenant).hold(3 * MiB))).toEqual([true, true]);
  });

  it('makes answers of all tenants wait past the process’s limit', async () => {
    const { open, resumed } = setUp();
    const rooms = ['a', 'b', 'c'].map((tenant) => open(tenant));
    expect(rooms.map((room) => room.hold(4 * MiB))).toEqual([true, true, false]);
    rooms[1]?.close();
    await Promise.resolve();
    expect(resumed).toEqual(['c']);
  });

  it('has room for a tenant that begins, however much others take', async () => {
    const budget = new AnswerBudget({ perTenant: 16 * MiB, perProcess: 48 * MiB });
    const rooms: AnswerRoom[] = [];
    /** Bytes of a tenant's answers, which are read on in turns by a piece each as far as they may. */
    const taken = (tenantId: string): number => {
      let bytes = 0;
      for (const room of Array.from({ length: 5 }, () => budget.open(tenantId))) {
        rooms.push(room);
        let held = 0;
        do held += 256 * KiB;
        while (room.hold(held) && held < 4 * MiB);
        bytes += held;
      }
      return bytes / MiB;
    };
    // Each answer that waits has a piece more.
    const most = (tenants: number): number => 48 / (tenants + 1) + 2;
    expect(taken('a')).toBeLessThan(16 + 2);
    expect(taken('b')).toBeLessThan(16 + 2);
    expect(taken('c')).toBeLessThan(most(3));
    const [first, second] = [budget.open('d'), budget.open('e')];
    expect(first.hold(4 * MiB)).toBe(true);
    expect(second.hold(MiB)).toBe(true);
    // Those that took more at first get no more than the others once their answers are delivered.
    for (const room of rooms.filter(({ tenantId }) => tenantId === 'a')) room.close();
    expect(taken('a')).toBeLessThan(most(4));
    for (const room of rooms) room.close();
  });

  it('is taken from clients that do not read for ten seconds, as long as other answers wait for it', async () => {
    const { budget, clock, cut, open, resumed } = setUp();
    const [slow, slower, quick] = [open('a', 'slow'), open('b', 'slower'), open('c', 'quick')];
    for (const room of [slow, slower]) {
      room.hold(4 * MiB);
      room.waitForClient(true);
    }
    clock.now += 60_000;
    budget.cutSlowClients();
    expect(cut).toEqual([]);
    slow.waitForClient(false);
    slow.waitForClient(true);
    expect(quick.hold(3 * MiB)).toBe(false);
    budget.cutSlowClients();
    await Promise.resolve();
    // Enough for the one that waited; the other client goes on.
    expect([cut, resumed]).toEqual([['slower'], ['quick']]);
    clock.now += 60_000;
    budget.cutSlowClients();
    expect(cut).toEqual(['slower']);
  });

  it('lets one answer after another end, however many wait', async () => {
    const answer = fc.record({
      tenant: fc.constantFrom('a', 'b', 'c'),
      size: fc.integer({ min: 1, max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 30 }), async (answers) => {
        const budget = new AnswerBudget({ perTenant, perProcess });
        let most = 0;
        const states = answers.map(({ tenant, size }) => {
          const room = budget.open(tenant);
          const state = { room, left: size, read: 0, flowing: true };
          room.reader = { onRoom: () => (state.flowing = true) };
          return state;
        });
        // Each round every answer that may is read on by a piece; one that is complete is delivered.
        for (let round = 0; round < 2_000 && states.some(({ left }) => left > 0); round += 1) {
          await Promise.resolve();
          for (const state of states) {
            if (!state.flowing || state.left === 0) continue;
            state.left -= 1;
            state.read += 256 * KiB;
            state.flowing = state.room.hold(state.read);
            most = Math.max(
              most,
              states.reduce((sum, { room }) => sum + room.held, 0),
            );
            if (state.left === 0) state.room.close();
          }
        }
        expect(states.filter(({ left }) => left > 0)).toEqual([]);
        // The limit, the largest answer of each tenant, and a piece of each that had to learn that it must wait.
        expect(most).toBeLessThanOrEqual(perProcess + 30 * MiB + answers.length * 256 * KiB);
      }),
    );
  });
});

import { expect, it } from '@jest/globals';
import { SettleRequest, type Settlement } from '@gatehouse/proto/tenant/v1/tenant';
import { maxRequestBytes } from '@gatehouse/grpc/metadata';
import { newId } from '@gatehouse/kit/ids';
import { maxPico } from '@gatehouse/kit/money';
import { maxCosts } from '../bounds.ts';
import { settlementParts } from './settlement-parts.ts';

const settlementOf = (charges: number): Settlement => ({
  ...{ id: newId(), tenantId: newId(), holderId: newId(), costPico: maxPico },
  charges: Array.from({ length: charges }, () => ({ subjectId: newId(), windowStart: 1_767_225_600_000n })),
});

it('no call with settlements is too large, whatever they are charged to', () => {
  const settlements = Array.from({ length: maxCosts }, () => settlementOf(66));
  const bytesOf = (part: Settlement[]): number =>
    SettleRequest.encode({
      holderId: newId(),
      settlements: [],
      counterSettlements: part,
      releasedHolderIds: [],
      liveHolderIds: [],
    }).finish().length;
  const parts = settlementParts(settlements);
  expect(bytesOf(settlements)).toBeGreaterThan(maxRequestBytes);
  expect(Math.max(...parts.map(bytesOf))).toBeLessThan(maxRequestBytes / 4);
  expect(parts.flat()).toEqual(settlements);
});

it('settlements without charges go in one call', () => {
  expect(settlementParts([])).toEqual([]);
  expect(settlementParts([settlementOf(0), settlementOf(0)])).toHaveLength(1);
});

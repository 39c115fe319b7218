import { rangeOf } from '@gatehouse/egress/allow-list';
import { addressOf, isWithin } from '@gatehouse/egress/special-ranges';
import { AppError } from '@gatehouse/kit/errors';

/** Throws a 400 with the first text other than a network in CIDR notation. */
export function assertNetworks(networks: readonly string[]): void {
  networks.forEach((network, index) => {
    try {
      rangeOf(network);
    } catch (cause) {
      const param = `allowed_cidrs[${index}]`;
      throw new AppError('invalid_value', `${param} must be a network such as 192.0.2.0/24.`, {
        param,
        cause,
      });
    }
  });
}

/** Whether an address is in one of the networks. With no network, every address is. */
export function maySend(address: string | null, networks: readonly string[]): boolean {
  if (networks.length === 0) return true;
  const parsed = addressOf(address ?? '');
  return parsed !== null && isWithin(parsed, networks.map(rangeOf));
}

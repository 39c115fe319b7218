/** A zone at this hour now. */
export function zoneAtHour(hour: number): string {
  const ahead = hour - new Date().getUTCHours();
  const offset = ahead < -12 ? ahead + 24 : ahead > 14 ? ahead - 24 : ahead;
  return offset === 0 ? 'Etc/GMT' : `Etc/GMT${offset > 0 ? '-' : '+'}${Math.abs(offset)}`;
}

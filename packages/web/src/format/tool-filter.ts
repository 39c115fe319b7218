/** The tools of a server for agents: an empty `allow` allows all, and `deny` wins. */
interface ToolFilter {
  allow: readonly string[];
  deny: readonly string[];
}

/** The filter with a tool switched on or off. */
export function filterWith({ allow, deny }: ToolFilter, tool: string, isOn: boolean) {
  const others = deny.filter((name) => name !== tool);
  if (!isOn) return { allow: [...allow], deny: [...others, tool] };
  const isAllowed = allow.length === 0 || allow.includes(tool);
  return { allow: isAllowed ? [...allow] : [...allow, tool], deny: others };
}

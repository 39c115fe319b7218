import type { WireMcpServer } from '@gatehouse/contract/mcp-servers';
import { useItems } from '../api/use-answer.ts';
import { Checks } from './checks.tsx';
import { KnownAnswer } from './known-answer.tsx';

interface ServerToolsProps {
  /** The API's name of the field. */
  param: string;
  /** `SERVER` for all of its tools, `SERVER/TOOL` for one. */
  value: readonly string[];
  onChange: (names: readonly string[]) => void;
}

/** The MCP servers of the tenant and their tools, to tick. */
export function ServerTools({ param, value, onChange }: ServerToolsProps) {
  const known = useItems('GET /v1/mcp/servers', {});
  return (
    <KnownAnswer known={known}>
      {(servers) => (
        <Checks
          legend="MCP tools"
          options={optionsOf(servers, value)}
          value={value}
          onChange={(names) => onChange(withoutRepeats(names))}
          param={param}
        />
      )}
    </KnownAnswer>
  );
}

/** A server as a whole stands for its single tools. */
function withoutRepeats(names: readonly string[]): string[] {
  return names.filter((name) => {
    const slash = name.indexOf('/');
    return slash < 0 || !names.includes(name.slice(0, slash));
  });
}

/** Each server and its tools; a server that is ticked as a whole has all of them. Missing ones can be unticked. */
function optionsOf(servers: readonly WireMcpServer[], chosen: readonly string[]): [string, string][] {
  const listed = servers.flatMap(({ name, tools }): [string, string][] => [
    [name, `${name}: all tools`],
    ...(chosen.includes(name)
      ? []
      : tools
          .filter(({ enabled, usable }) => enabled && usable)
          .map(({ name: tool }): [string, string] => [`${name}/${tool}`, `${name}: ${tool}`])),
  ]);
  const names = new Set(listed.map(([name]) => name));
  const others = chosen.filter((name) => !names.has(name));
  return [...listed, ...others.map((name): [string, string] => [name, `${name} (not offered now)`])];
}

import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import type { McpRegistry } from './mcp-registry.ts';

/** Registers metrics of the memory taken by responses of MCP servers. */
export function observeMcp(registry: Registry, { answers }: McpRegistry): void {
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_mcp_answer_bytes',
    help: 'Bytes of large responses of MCP servers in memory',
    registers,
    collect() {
      this.set(answers.bytes);
    },
  });
  new Gauge({
    name: 'gatehouse_mcp_answers_waiting',
    help: 'Large responses of MCP servers that wait until others are read',
    registers,
    collect() {
      this.set(answers.waiting);
    },
  });
}

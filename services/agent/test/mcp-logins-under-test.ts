import { expect } from '@jest/globals';
import type { CallToolResponse } from '@gatehouse/proto/agent/v1/agent';
import type { Service } from '@gatehouse/shell/service';
import { AuthorizationServer } from '@gatehouse/test/authorization-server';
import { ConsentBrowser } from '@gatehouse/test/consent-browser';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import type { As } from '@gatehouse/test/service-under-test';
import { AgentServiceUnderTest, type TestTenant } from './agent-service.ts';

/** Two replicas of the agent service, an MCP server that wants logins, and the authorization server that gives them. */
export class McpLoginsUnderTest {
  readonly agents: AgentServiceUnderTest;
  readonly replica: Service;
  readonly browser: ConsentBrowser;
  tenant: TestTenant;
  #server: TestMcpServer | undefined;
  #login: AuthorizationServer | undefined;

  private constructor(agents: AgentServiceUnderTest, replica: Service) {
    this.agents = agents;
    this.replica = replica;
    this.tenant = agents.makeTenant();
    this.browser = new ConsentBrowser(agents.identity, {
      page: 'mcp.servers.consent',
      begin: 'mcp.servers.consent.begin',
      callback: 'mcp.oauth.callback',
    });
  }

  static async start(): Promise<McpLoginsUnderTest> {
    const settings = { EGRESS_ALLOW: '127.0.0.1', PUBLIC_URL: 'https://gateway.example.com' };
    const agents = await AgentServiceUnderTest.start({ settings });
    return new McpLoginsUnderTest(agents, await agents.startReplica());
  }

  /** Another tenant and other servers. */
  async begin(): Promise<void> {
    this.tenant = this.agents.makeTenant();
    this.#login = await AuthorizationServer.start();
    this.#server = await TestMcpServer.start([{ name: 'whoami' }]);
    this.login.protect(this.server);
  }

  async end(): Promise<void> {
    await this.server.stop();
    await this.login.stop();
  }

  async stop(): Promise<void> {
    await this.replica.stop();
    await this.agents.stop();
  }

  get server(): TestMcpServer {
    if (this.#server === undefined) throw new Error('begin comes first');
    return this.#server;
  }

  get login(): AuthorizationServer {
    if (this.#login === undefined) throw new Error('begin comes first');
    return this.#login;
  }

  get port(): number {
    return this.agents.service.httpPort;
  }

  async register(auth: object, fields: object = {}): Promise<string> {
    const body = { name: 'mail', url: this.server.url, auth, ...fields };
    const made = await this.agents.call('POST', '/v1/mcp/servers', { as: this.tenant.admin, body });
    expect(made).toMatchObject({ status: 201 });
    return made.body.id;
  }

  async getServer(id: string) {
    return (await this.agents.call('GET', `/v1/mcp/servers/${id}`, { as: this.tenant.admin })).body;
  }

  askLink(ref: string, as: As) {
    return this.agents.call('POST', `/v1/mcp/servers/${ref}/consent-links`, { as });
  }

  async makeLink(ref: string, as: As = this.tenant.admin): Promise<string> {
    const { status, body } = await this.askLink(ref, as);
    expect(status).toBe(201);
    const { origin, pathname, search } = new URL((body as unknown as { url: string }).url);
    expect(origin).toBe('https://gateway.example.com');
    return pathname + search;
  }

  /** Consents at the authorization server as one of its users, and comes back. */
  async consent(link: string, user: string): Promise<Response> {
    const { location, cookie } = await this.browser.press(link, this.port);
    const { pathname, search } = this.login.consent(location, user);
    return this.browser.comeBack(pathname + search, { port: this.port, cookie });
  }

  async connect(ref: string, user: string, as: As = this.tenant.admin): Promise<void> {
    expect((await this.consent(await this.makeLink(ref, as), user)).status).toBe(200);
  }

  /** An agent with the server `mail`. */
  async makeAgent(): Promise<string> {
    return (await this.agents.makeAgent(this.tenant.admin, { tools: { mcp_servers: ['mail'] } })).id;
  }

  /** The names of an agent's tools, as a user gets them. */
  async toolsOf(agentId: string, as: As): Promise<string[]> {
    const chat = await this.agents.peer('chat');
    const { tools } = await chat.call(
      'listTools',
      { agentId, revisionOnly: false },
      await this.agents.actingFor(as),
    );
    return tools.map(({ name }) => name);
  }

  /** Calls the first tool of an agent, at one of the replicas. */
  async call(
    agentId: string,
    { as = this.tenant.user, at = this.agents.service }: { as?: As; at?: Service } = {},
  ): Promise<CallToolResponse> {
    const chat = await this.agents.peer('chat', at);
    const context = { ...(await this.agents.actingFor(as)), deadlineMs: 40_000 };
    const { tools } = await chat.call('listTools', { agentId, revisionOnly: false }, context);
    const asked = { serverId: tools[0]?.serverId ?? '', tool: tools[0]?.tool ?? '' };
    return chat.call('callTool', { agentId, ...asked, argumentsJson: '{}' }, context);
  }

  /** Lets the server answer with the user whose token it gets. */
  answerWithUsers(): void {
    const { intercept } = this.server;
    const seen = { user: '' };
    this.server.intercept = (request, response) => {
      if (request.method === 'tools/call') seen.user = this.login.userOf(request) ?? '';
      return intercept(request, response);
    };
    this.server.tools = [{ name: 'whoami', run: () => said(seen.user) }];
  }
}

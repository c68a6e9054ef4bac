// Gremlin Server without script engine: `java -cp 'lib/*:classes' gremlin_server server.yaml`.
//
// The server's own main class needs a Groovy script engine to bind `g`, and keeps it for clients. This
// one binds `g` itself, so that no request can reach an engine: bytecode without lambdas is translated
// by reflection, text is parsed by the gremlin-lang grammar. It also has what Gremlin Server lacks: a
// check of the Origin header, and a password that a client may send with the WebSocket handshake.
// Groovy compiles this file on first use; a compiled class in Java would be a binary in the package.
//
// Groovy's runtime takes half of a start, as it registers its methods and lists the JDK's packages. So the code
// of a start and of usual requests is Java's: no closures, no texts with `$`, no lists as `[]`, no `==` or `?:` of
// objects but texts. A test asks whether the runtime was initialized.

import groovy.transform.CompileStatic
import groovy.transform.TupleConstructor
import groovy.transform.stc.POJO
import io.netty.bootstrap.ServerBootstrap
import io.netty.buffer.PooledByteBufAllocator
import io.netty.buffer.Unpooled
import io.netty.channel.Channel
import io.netty.channel.ChannelFutureListener
import io.netty.channel.ChannelHandler
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.channel.ChannelOption
import io.netty.channel.ChannelPipeline
import io.netty.channel.EventLoopGroup
import io.netty.channel.WriteBufferWaterMark
import io.netty.channel.nio.NioEventLoopGroup
import io.netty.channel.socket.nio.NioServerSocketChannel
import io.netty.handler.codec.http.DefaultFullHttpResponse
import io.netty.handler.codec.http.FullHttpRequest
import io.netty.handler.codec.http.HttpHeaderNames
import io.netty.handler.codec.http.HttpHeaderValues
import io.netty.handler.codec.http.HttpHeaders
import io.netty.handler.codec.http.HttpResponseStatus
import io.netty.handler.codec.http.HttpVersion
import io.netty.util.ReferenceCountUtil
import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.concurrent.ExecutorService
import java.util.concurrent.TimeUnit
import org.apache.tinkerpop.gremlin.jsr223.GremlinScriptEngineFactory
import org.apache.tinkerpop.gremlin.jsr223.GremlinScriptEngineManager
import org.apache.tinkerpop.gremlin.process.traversal.Bytecode
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversal
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource
import org.apache.tinkerpop.gremlin.process.traversal.util.BytecodeHelper
import org.apache.tinkerpop.gremlin.server.Settings
import org.apache.tinkerpop.gremlin.server.auth.AuthenticatedUser
import org.apache.tinkerpop.gremlin.server.auth.AuthenticationException
import org.apache.tinkerpop.gremlin.server.auth.Authenticator
import org.apache.tinkerpop.gremlin.server.channel.WebSocketChannelizer
import org.apache.tinkerpop.gremlin.server.handler.FrameMessageSizeEstimator
import org.apache.tinkerpop.gremlin.server.handler.SaslAuthenticationHandler
import org.apache.tinkerpop.gremlin.server.op.OpLoader
import org.apache.tinkerpop.gremlin.server.util.ServerGremlinExecutor
import org.apache.tinkerpop.gremlin.structure.Graph
import org.apache.tinkerpop.gremlin.util.Gremlin
import org.apache.tinkerpop.gremlin.util.Tokens
import org.apache.tinkerpop.gremlin.util.message.RequestMessage
import org.apache.tinkerpop.gremlin.util.message.ResponseMessage
import org.apache.tinkerpop.gremlin.util.message.ResponseStatusCode

/** The main class: the first one, as docker-compose.yml runs this file. A script would be called dynamically. */
@CompileStatic
@POJO
class gremlin_server {
    static void main(String[] args) {
        Settings settings = Settings.read(args[0])
        if (settings.gremlinPool == 0) {
            settings.@gremlinPool = Runtime.runtime.availableProcessors()
        }
        // Threads take this loader over from the one that starts them, so that it is set before any is started.
        Thread.currentThread().contextClassLoader = new WithoutGroovyEngine(Settings.classLoader)

        EventLoopGroup acceptors = new NioEventLoopGroup(settings.threadPoolBoss)
        EventLoopGroup workers = new NioEventLoopGroup(settings.threadPoolWorker)
        ServerGremlinExecutor executor = new ServerGremlinExecutor(settings, null, workers)
        Graph graph = executor.graphManager.getGraph('graph')
        GraphTraversalSource g = new SourceWithoutFiles(graph)
        executor.graphManager.putTraversalSource('g', g)
        bind(g, executor.gremlinExecutor.scriptEngineManager)
        OpLoader.init(settings)

        Channel opened = listen(settings, acceptors, workers, executor)
        Runtime.runtime.addShutdownHook(new Thread(new Shutdown(opened, executor.gremlinExecutorService, graph)))
        System.out.println('Channel started at port '.concat(Integer.toString(settings.port)).concat('.'))
    }

    private static void bind(GraphTraversalSource g, GremlinScriptEngineManager engines) {
        Set<String> languages = new HashSet<>()
        for (GremlinScriptEngineFactory factory : engines.engineFactories) {
            languages.addAll((Collection<String>) factory.names)
        }
        if (!languages.equals(Set.of(TraversalsOnly.LANGUAGE))) {
            System.err.println('Error: unexpected script engines: ' + languages)
            System.exit(1)
        }
        engines.put('g', g)
    }

    private static Channel listen(
        Settings settings, EventLoopGroup acceptors, EventLoopGroup workers, ServerGremlinExecutor executor
    ) {
        Map<String, Object> config = settings.authentication.config
        String password = config == null ? null : (String) config.get('password')
        GuardedChannelizer channelizer = new GuardedChannelizer(
            password == null ? null : new Login((String) config.get('user'), password))
        channelizer.init(executor)
        WriteBufferWaterMark marks = new WriteBufferWaterMark(
            settings.writeBufferLowWaterMark, settings.writeBufferHighWaterMark)
        return new ServerBootstrap()
            .group(acceptors, workers)
            .channel(NioServerSocketChannel)
            .childHandler(channelizer)
            .childOption(ChannelOption.MESSAGE_SIZE_ESTIMATOR, FrameMessageSizeEstimator.instance())
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, marks)
            .childOption(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT)
            .bind(settings.host, settings.port)
            .sync()
            .channel()
    }
}

/** Hides the factory of the Groovy engine from the service loader. */
@CompileStatic
@POJO
class WithoutGroovyEngine extends ClassLoader {
    private static final String FACTORIES =
        'META-INF/services/org.apache.tinkerpop.gremlin.jsr223.GremlinScriptEngineFactory'

    WithoutGroovyEngine(ClassLoader parent) {
        super(parent)
    }

    @Override
    Enumeration<URL> getResources(String name) {
        Enumeration<URL> all = super.getResources(name)
        if (!FACTORIES.equals(name)) {
            return all
        }
        List<URL> others = new ArrayList<>()
        while (all.hasMoreElements()) {
            URL url = all.nextElement()
            if (!url.path.contains('/gremlin-groovy-')) {
                others.add(url)
            }
        }
        return Collections.enumeration(others)
    }
}

/** The user and the password of this start. */
@CompileStatic
@POJO
@TupleConstructor
class Login {
    String user
    String password

    boolean matches(String user, String password) {
        return MessageDigest.isEqual(bytes(user, password), bytes(this.user, this.password))
    }

    private static byte[] bytes(String user, String password) {
        return String.join(':', user, password).getBytes(StandardCharsets.UTF_8)
    }
}

/** SASL PLAIN, for consoles and notebooks. */
@CompileStatic
@POJO
@TupleConstructor
class LoginAuthenticator implements Authenticator {
    Login login

    @Override
    boolean requireAuthentication() { true }

    @Override
    void setup(Map<String, Object> config) {}

    @Override
    Authenticator.SaslNegotiator newSaslNegotiator(InetAddress remote) { new PlainNegotiator(login) }

    @Override
    AuthenticatedUser authenticate(Map<String, String> credentials) {
        throw new AuthenticationException('Username and/or password are incorrect')
    }
}

@CompileStatic
@POJO
class PlainNegotiator implements Authenticator.SaslNegotiator {
    private final Login login
    private String[] given = null

    PlainNegotiator(Login login) {
        this.login = login
    }

    @Override
    byte[] evaluateResponse(byte[] response) {
        given = new String(response, StandardCharsets.UTF_8).split('\0', -1)
        return null
    }

    @Override
    boolean isComplete() { given != null }

    @Override
    AuthenticatedUser getAuthenticatedUser() {
        if (given == null || given.length != 3 || !login.matches(given[1], given[2])) {
            throw new AuthenticationException('Username and/or password are incorrect')
        }
        return new AuthenticatedUser(login.user)
    }
}

/** Checks the HTTP request that opens a connection: path, Origin, and the password where it has one. */
@CompileStatic
@POJO
@ChannelHandler.Sharable
class HandshakeCheck extends ChannelInboundHandlerAdapter {
    private final Login login
    private final Set<String> origins

    HandshakeCheck(Login login, int port) {
        this.login = login
        // Some drivers send the server's own address. A page cannot have it: this port serves none.
        String end = ':'.concat(Integer.toString(port))
        this.origins = Set.of('http://127.0.0.1'.concat(end), 'http://localhost'.concat(end), 'http://[::1]'.concat(end))
    }

    @Override
    void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof FullHttpRequest) {
            HttpResponseStatus refusal = refusalOf((FullHttpRequest) message)
            if (refusal != null) {
                ReferenceCountUtil.release(message)
                refuse(context, refusal)
                return
            }
            if (login != null && ((FullHttpRequest) message).headers().contains(HttpHeaderNames.AUTHORIZATION)) {
                context.pipeline().remove(GuardedChannelizer.PIPELINE_AUTHENTICATOR)
            }
        }
        context.fireChannelRead(message)
    }

    private boolean isForeign(HttpHeaders headers) {
        for (String origin : headers.getAll(HttpHeaderNames.ORIGIN)) {
            if (!origins.contains(origin.toLowerCase())) {
                return true
            }
        }
        return false
    }

    private HttpResponseStatus refusalOf(FullHttpRequest request) {
        HttpHeaders headers = request.headers()
        if (isForeign(headers)) {
            return HttpResponseStatus.FORBIDDEN
        }
        if (request.uri().split('\\?')[0] != '/gremlin') {
            return HttpResponseStatus.NOT_FOUND
        }
        if (!headers.contains(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET, true)) {
            return HttpResponseStatus.UPGRADE_REQUIRED
        }
        String given = headers.get(HttpHeaderNames.AUTHORIZATION)
        return login == null || given == null || matches(given) ? null : HttpResponseStatus.UNAUTHORIZED
    }

    private boolean matches(String header) {
        if (!header.toLowerCase().startsWith('basic ')) {
            return false
        }
        try {
            String[] parts = new String(header.substring(6).trim().decodeBase64(), StandardCharsets.UTF_8).split(':', 2)
            return parts.length == 2 && login.matches(parts[0], parts[1])
        } catch (RuntimeException malformed) {
            return false
        }
    }

    private static void refuse(ChannelHandlerContext context, HttpResponseStatus status) {
        DefaultFullHttpResponse answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, Unpooled.EMPTY_BUFFER)
        answer.headers().set(HttpHeaderNames.CONTENT_LENGTH, 0)
        context.writeAndFlush(answer).addListener(ChannelFutureListener.CLOSE)
    }
}

/** Traversals without the step `io`, which reads and writes any file of this user. */
@CompileStatic
@POJO
class SourceWithoutFiles extends GraphTraversalSource {
    SourceWithoutFiles(Graph graph) {
        super(graph)
    }

    @Override
    <S> GraphTraversal<S, S> io(String file) {
        throw new IllegalArgumentException('the step io reads and writes files: not on this server')
    }
}

/** Lets through what needs no script engine; text without a language is gremlin-lang, as in Neptune. */
@CompileStatic
@POJO
@ChannelHandler.Sharable
class TraversalsOnly extends ChannelInboundHandlerAdapter {
    static final String LANGUAGE = 'gremlin-lang'

    @Override
    void channelRead(ChannelHandlerContext context, Object message) {
        if (!(message instanceof RequestMessage)) {
            context.fireChannelRead(message)
            return
        }
        RequestMessage request = (RequestMessage) message
        if (isTraversal(request) || isMalformed(request)) {
            context.fireChannelRead(request)
        } else if (isVersion(request)) {
            context.writeAndFlush(
                ResponseMessage.build(request).code(ResponseStatusCode.SUCCESS).result(List.of(Gremlin.version())).create())
        } else if (isText(request)) {
            context.fireChannelRead(RequestMessage.from(request).addArg(Tokens.ARGS_LANGUAGE, LANGUAGE).create())
        } else {
            context.writeAndFlush(ResponseMessage.build(request)
                .code(ResponseStatusCode.REQUEST_ERROR_INVALID_REQUEST_ARGUMENTS)
                .statusMessage('refused: this server takes bytecode without lambdas and gremlin-lang, no scripts, no sessions and no step io')
                .create())
        }
    }

    private static boolean isTraversal(RequestMessage request) {
        Object gremlin = request.args.get(Tokens.ARGS_GREMLIN)
        return request.processor == 'traversal' && request.op == Tokens.OPS_BYTECODE &&
            gremlin instanceof Bytecode && !BytecodeHelper.getLambdaLanguage((Bytecode) gremlin).isPresent() &&
            !readsFiles((Bytecode) gremlin)
    }

    private static boolean readsFiles(Bytecode bytecode) {
        for (Bytecode.Instruction step : bytecode.stepInstructions) {
            if (step.operator.equals('io')) {
                return true
            }
        }
        return false
    }

    private static boolean isText(RequestMessage request) {
        return request.processor == '' && request.op == Tokens.OPS_EVAL &&
            request.args.getOrDefault(Tokens.ARGS_LANGUAGE, LANGUAGE) == LANGUAGE &&
            request.args.get(Tokens.ARGS_GREMLIN) instanceof String
    }

    /** The one script that `doctor` sends: there is no other question for the version. */
    private static boolean isVersion(RequestMessage request) {
        return request.processor == '' && request.op == Tokens.OPS_EVAL &&
            request.args.get(Tokens.ARGS_GREMLIN) == 'Gremlin.version()'
    }

    private static boolean isMalformed(RequestMessage request) {
        return request.op == Tokens.OPS_INVALID
    }
}

/** Gremlin Server's WebSocket pipeline with these checks in it. */
@CompileStatic
@POJO
class GuardedChannelizer extends WebSocketChannelizer {
    private final Login login

    GuardedChannelizer(Login login) {
        this.login = login
    }

    @Override
    void configure(ChannelPipeline pipeline) {
        super.configure(pipeline)
        pipeline.addAfter(PIPELINE_HTTP_AGGREGATOR, 'handshake-check', new HandshakeCheck(login, settings.port))
        if (login != null) {
            pipeline.addLast(PIPELINE_AUTHENTICATOR, new SaslAuthenticationHandler(new LoginAuthenticator(login), null, settings))
        }
        pipeline.addLast('traversals-only', new TraversalsOnly())
    }
}

/** Finishes what has begun before a graph with a file of its own is written. */
@CompileStatic
@POJO
class Shutdown implements Runnable {
    private final Channel opened
    private final ExecutorService requests
    private final Graph graph

    Shutdown(Channel opened, ExecutorService requests, Graph graph) {
        this.opened = opened
        this.requests = requests
        this.graph = graph
    }

    @Override
    void run() {
        opened.close().await(5, TimeUnit.SECONDS)
        requests.shutdown()
        requests.awaitTermination(30, TimeUnit.SECONDS)
        graph.close()
    }
}

// Elements of the graph as batches of columns over HTTP: snapshots, and large loads.
//
//   POST /elements/dump    answers with the whole graph as frames, or 204 if it is unchanged since a snapshot
//   POST /elements/create  adds the elements of a batch of a snapshot, exactly as they were
//   POST /elements/merge   upserts the elements of a batch by id, as the loader's requests do
//
// A batch is a JSON header, preceded by its length, and the buffers of its columns as Apache Arrow lays them
// out in memory, all little-endian and padded to eight bytes. Python makes Arrow tables of them without a
// copy, and nothing has to be escaped. infra/embedded/element_batches.py is the other side.
//
// What a column of a snapshot cannot hold is in the column `other_properties`: a GraphSON map from the name to
// all values with their types, also of ids that are not text (`~id`, `~from`, `~to`).

import groovy.transform.CompileStatic
import groovy.transform.stc.POJO
import io.netty.buffer.Unpooled
import io.netty.channel.ChannelFuture
import io.netty.channel.ChannelFutureListener
import io.netty.channel.ChannelHandler
import io.netty.channel.ChannelHandlerContext
import io.netty.channel.ChannelInboundHandlerAdapter
import io.netty.handler.codec.http.DefaultFullHttpResponse
import io.netty.handler.codec.http.DefaultHttpContent
import io.netty.handler.codec.http.DefaultHttpResponse
import io.netty.handler.codec.http.HttpContent
import io.netty.handler.codec.http.HttpHeaderNames
import io.netty.handler.codec.http.HttpHeaders
import io.netty.handler.codec.http.HttpMethod
import io.netty.handler.codec.http.HttpRequest
import io.netty.handler.codec.http.HttpResponseStatus
import io.netty.handler.codec.http.HttpUtil
import io.netty.handler.codec.http.HttpVersion
import io.netty.handler.codec.http.LastHttpContent
import io.netty.util.ReferenceCountUtil
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.charset.StandardCharsets
import java.util.concurrent.ExecutorService
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong
import java.util.function.Consumer
import java.util.function.Function
import org.apache.tinkerpop.gremlin.process.traversal.Bytecode
import org.apache.tinkerpop.gremlin.structure.Edge
import org.apache.tinkerpop.gremlin.structure.Element
import org.apache.tinkerpop.gremlin.structure.Graph
import org.apache.tinkerpop.gremlin.structure.Property
import org.apache.tinkerpop.gremlin.structure.T
import org.apache.tinkerpop.gremlin.structure.Vertex
import org.apache.tinkerpop.gremlin.structure.VertexProperty.Cardinality
import org.apache.tinkerpop.gremlin.structure.io.graphson.GraphSONMapper
import org.apache.tinkerpop.gremlin.structure.io.graphson.GraphSONVersion
import org.apache.tinkerpop.gremlin.structure.util.TransactionException
import org.apache.tinkerpop.shaded.jackson.databind.ObjectMapper

/** A growing little-endian buffer. */
@CompileStatic
@POJO
class Bytes {
    private ByteBuffer buffer = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN)

    int getSize() { buffer.position() }

    byte[] getArray() { buffer.array() }

    private ByteBuffer room(int more) {
        if (buffer.remaining() < more) {
            long wanted = Math.max((long) size + more, 2L * buffer.capacity())
            ByteBuffer larger = ByteBuffer.allocate((int) Math.min(wanted, Integer.MAX_VALUE - 16L))
            larger.order(ByteOrder.LITTLE_ENDIAN).put(buffer.array(), 0, size)
            buffer = larger
        }
        return buffer
    }

    void int32(int value) { room(4).putInt(value) }

    void int64(long value) { room(8).putLong(value) }

    void bytes(byte[] value, int length) { room(length).put(value, 0, length) }

    void text(String value) {
        byte[] encoded = value.getBytes(StandardCharsets.UTF_8)
        bytes(encoded, encoded.length)
    }

    void pad(int filler) {
        while (size % 8) {
            room(1).put((byte) filler)
        }
    }
}

/** Writes one column: texts, longs or sets of texts. A row without a value costs nothing until the end. */
@CompileStatic
@POJO
class ColumnWriter {
    final String name
    final String type
    private final BitSet known = new BitSet()
    private final Bytes memberEnds = new Bytes()
    private final Bytes textEnds = new Bytes()
    private final Bytes data = new Bytes()
    private final boolean numbers
    private final boolean sets
    private int rows = 0
    private int members = 0

    ColumnWriter(String name, String type) {
        this.name = name
        this.type = type
        numbers = type == 'long'
        sets = type == 'set'
        memberEnds.int32(0)
        textEnds.int32(0)
    }

    /** Sets the value of a row after all rows with a value so far; returns its bytes. */
    int put(int row, Object value) {
        int before = data.size
        skipTo(row)
        known.set(row)
        if (numbers) {
            data.int64(((Long) value).longValue())
        } else if (sets) {
            for (Object member : (List) value) {
                text((String) member)
            }
            memberEnds.int32(members)
        } else {
            text((String) value)
        }
        rows = row + 1
        return data.size - before
    }

    private void text(String value) {
        data.text(value)
        textEnds.int32(data.size)
        members++
    }

    private void skipTo(int row) {
        for (; rows < row; rows++) {
            if (numbers) {
                data.int64(0)
            } else if (sets) {
                memberEnds.int32(members)
            } else {
                textEnds.int32(data.size)
            }
        }
    }

    /** Returns the buffers of so many rows. */
    List<Bytes> buffers(int number) {
        skipTo(number)
        byte[] bits = Arrays.copyOf(known.toByteArray(), (number + 7) >> 3)
        Bytes validity = new Bytes()
        validity.bytes(bits, bits.length)
        return numbers ? List.of(validity, data) :
            sets ? List.of(validity, memberEnds, textEnds, data) : List.of(validity, textEnds, data)
    }
}

/** Several values of one property. */
@CompileStatic
@POJO
class Several extends ArrayList<Object> {
    Several(Object first) {
        add(first)
    }

    List<String> texts() {
        List<String> found = new ArrayList<>(size())
        for (Object value : this) {
            found.add(String.valueOf(value))
        }
        return found
    }

    boolean areDistinctTexts() {
        Set<Object> distinct = new HashSet<>()
        for (Object value : this) {
            if (!(value instanceof String) || !distinct.add(value)) {
                return false
            }
        }
        return true
    }

    Object first() {
        Object first = get(0)
        for (Object value : this) {
            if (String.valueOf(value).compareTo(String.valueOf(first)) < 0) {
                first = value
            }
        }
        return first
    }
}

/** Collects elements as columns. */
@CompileStatic
@POJO
class BatchWriter {
    static final String OTHERS = 'other_properties'
    static final ObjectMapper GRAPHSON = GraphSONMapper.build().version(GraphSONVersion.V3_0).create().createMapper()
    static final ObjectMapper JSON = new ObjectMapper()
    private static final Set<String> KEYS = Set.of('id', 'label', 'from', 'to')
    private static final int MOST_ROWS = 50_000
    private static final int MOST_BYTES = 32 << 20
    private final String kind
    private final Map<String, String> types
    private final Map<String, ColumnWriter> columns = new LinkedHashMap<>()
    private final Map<String, Object> values = new LinkedHashMap<>()
    private int rows = 0
    private int bytes = 0

    BatchWriter(String kind, Map<String, String> types) {
        this.kind = kind
        this.types = types
    }

    boolean isFull() { rows >= MOST_ROWS || bytes >= MOST_BYTES }

    /** Adds an element with the keys of its table: `id`, `label`, of an edge `from` and `to`. */
    void add(Element element, Object id, Object from, Object to) {
        // Loops instead of closures, whose calls take longer than the work.
        Map<String, Object> others = null
        if (from != null) {
            others = key('from', from, others)
            others = key('to', to, others)
        }
        others = key('id', id, others)
        put('label', element.label())
        values.clear()
        Iterator<? extends Property> properties = element.properties()
        while (properties.hasNext()) {
            Property property = properties.next()
            Object before = values.put(property.key(), property.value())
            if (before != null) {
                Several several = before instanceof Several ? (Several) before : new Several(before)
                several.add(property.value())
                values.put(property.key(), several)
            }
        }
        for (Map.Entry<String, Object> property : values.entrySet()) {
            String type = KEYS.contains(property.key) ? null : types.get(property.key)
            if (!put(property.key, property.value, type)) {
                if (others == null) {
                    others = new LinkedHashMap<>()
                }
                Object value = property.value
                others.put(property.key, value instanceof Several ? value : Collections.singletonList(value))
            }
        }
        if (others != null) {
            put(OTHERS, GRAPHSON.writeValueAsString(others))
        }
        rows++
    }

    private Map<String, Object> key(String name, Object value, Map<String, Object> others) {
        put(name, String.valueOf(value))
        if (value instanceof String) {
            return others
        }
        Map<String, Object> known = others == null ? new LinkedHashMap<String, Object>() : others
        known.put('~'.concat(name), value)
        return known
    }

    /** Puts what fits of a value into its column; returns whether that is all of it. */
    private boolean put(String name, Object value, String type) {
        if (type == null) {
            return false
        }
        if (value instanceof Several) {
            Several several = (Several) value
            if (type == 'set') {
                put(name, several.texts())
                return several.areDistinctTexts()
            }
            put(name, several.first(), type)
            return false
        }
        if (type == 'set') {
            put(name, Collections.singletonList(String.valueOf(value)))
            return value instanceof String
        }
        if (type == 'string') {
            put(name, String.valueOf(value))
            return value instanceof String
        }
        if (value instanceof Long || value instanceof Integer || value instanceof Short) {
            put(name, ((Number) value).longValue())
        }
        return value instanceof Long
    }

    private void put(String name, Object value) {
        ColumnWriter column = columns.get(name)
        if (column == null) {
            column = new ColumnWriter(name, types.getOrDefault(name, 'string'))
            columns.put(name, column)
        }
        bytes += column.put(rows, value)
    }

    /** Returns the batch, and begins another one. */
    Bytes take() {
        List<Map<String, Object>> header = new ArrayList<>()
        List<Bytes> all = new ArrayList<>()
        for (ColumnWriter column : columns.values()) {
            List<Bytes> buffers = column.buffers(rows)
            List<Integer> sizes = new ArrayList<>()
            for (Bytes buffer : buffers) {
                sizes.add(buffer.size)
            }
            header.add(Map.<String, Object>of('name', column.name, 'type', column.type, 'buffers', sizes))
            all.addAll(buffers)
        }
        Bytes text = new Bytes()
        text.text(JSON.writeValueAsString(Map.<String, Object>of('kind', kind, 'rows', rows, 'columns', header)))
        text.pad(32)
        Bytes batch = new Bytes()
        batch.int64(text.size)
        batch.bytes(text.array, text.size)
        for (Bytes buffer : all) {
            batch.bytes(buffer.array, buffer.size)
            batch.pad(0)
        }
        columns.clear()
        rows = bytes = 0
        return batch
    }
}

/** Reads one column. */
@CompileStatic
@POJO
class ColumnReader {
    // Longer texts are rarely equal.
    private static final int LONGEST_SHARED = 100
    final String name
    private final boolean numbers
    private final boolean sets
    private final ByteBuffer validity
    private final ByteBuffer memberEnds
    private final ByteBuffer textEnds
    private final ByteBuffer data
    private final String[] shared

    ColumnReader(String name, String type, List<ByteBuffer> buffers, String[] shared) {
        this.name = name
        this.shared = shared
        numbers = type == 'long'
        sets = type == 'set'
        validity = buffers.get(0)
        data = buffers.get(buffers.size() - 1)
        memberEnds = buffers.get(1)
        textEnds = buffers.get(sets ? 2 : 1)
    }

    boolean isKnown(int row) { validity.limit() == 0 || ((validity.get(row >> 3) >> (row & 7)) & 1) == 1 }

    /** Returns the value of a row: a String, a Long, a List of texts, or null. */
    Object value(int row) {
        if (!isKnown(row)) {
            return null
        }
        if (numbers) {
            return Long.valueOf(data.getLong(8 * row))
        }
        if (!sets) {
            return text(row)
        }
        List<String> members = new ArrayList<>()
        int end = memberEnds.getInt(4 * row + 4)
        for (int at = memberEnds.getInt(4 * row); at < end; at++) {
            members.add(text(at))
        }
        return members
    }

    /** Returns a text, or the text of a member of a set. */
    String text(int at) {
        int start = textEnds.getInt(4 * at)
        int length = textEnds.getInt(4 * at + 4) - start
        String text = new String(data.array(), data.arrayOffset() + start, length, StandardCharsets.UTF_8)
        if (length > LONGEST_SHARED) {
            return text
        }
        int place = text.hashCode() & (shared.length - 1)
        String same = shared[place]
        if (text.equals(same)) {
            return same
        }
        shared[place] = text
        return text
    }
}

/** Reads a batch; equal texts become one object, because many properties of a graph are equal. */
@CompileStatic
@POJO
class BatchReader {
    private static final int SHARED = 1 << 16
    final String kind
    final int rows
    final Set<String> created
    private final Map<String, ColumnReader> columns = new LinkedHashMap<>()

    BatchReader(ByteBuffer bytes) {
        String[] shared = new String[SHARED]
        int length = (int) bytes.getLong()
        Map header = BatchWriter.JSON.readValue(bytes.array(), bytes.position(), length, Map)
        bytes.position(bytes.position() + length)
        kind = (String) header.kind
        rows = (int) header.rows
        created = new HashSet<String>((List<String>) header.get('created'))
        for (Map column : (List<Map>) header.columns) {
            List<ByteBuffer> buffers = new ArrayList<>()
            for (int size : (List<Integer>) column.buffers) {
                buffers.add(bytes.slice().limit(size).order(ByteOrder.LITTLE_ENDIAN))
                bytes.position(bytes.position() + ((size + 7) & -8))
            }
            columns.put((String) column.name, new ColumnReader((String) column.name, (String) column.type, buffers, shared))
        }
    }

    ColumnReader take(String name) { columns.remove(name) }

    Collection<ColumnReader> getProperties() { columns.values() }
}

/** The columns of a batch that are no properties. */
@CompileStatic
@POJO
class ElementKeys {
    private final ColumnReader ids
    private final ColumnReader labels
    private final ColumnReader starts
    private final ColumnReader ends

    ElementKeys(BatchReader batch) {
        ids = batch.take('id')
        labels = batch.take('label')
        starts = batch.take('from')
        ends = batch.take('to')
    }

    String id(int row) { ids.text(row) }

    String label(int row) { labels.text(row) }

    String from(int row) { starts.text(row) }

    String to(int row) { ends.text(row) }
}

/** Notes whether the graph has changed since a snapshot. Requests are executed by one thread. */
@CompileStatic
@POJO
class GraphChanges {
    private static final Set<String> WRITING = Set.of('addV', 'addE', 'mergeV', 'mergeE', 'property', 'drop', 'io', 'call')
    private final AtomicLong number = new AtomicLong()
    private String snapshot = null
    private long atSnapshot = -1

    void add() { number.incrementAndGet() }

    synchronized void saved(String name) {
        snapshot = name
        atSnapshot = number.get()
    }

    synchronized boolean isUnchangedSince(String name) { name != null && name == snapshot && atSnapshot == number.get() }

    /** Returns whether a request (bytecode, or text) may change the graph. */
    static boolean mayWrite(Object gremlin) {
        if (gremlin instanceof Bytecode) {
            for (Bytecode.Instruction step : ((Bytecode) gremlin).instructions) {
                if (WRITING.contains(step.operator) || mayWrite(Arrays.asList(step.arguments))) {
                    return true
                }
            }
        } else if (gremlin instanceof Collection) {
            for (Object member : (Collection<?>) gremlin) {
                if (mayWrite(member)) {
                    return true
                }
            }
        } else if (gremlin instanceof String) {
            for (String step : WRITING) {
                if (((String) gremlin).contains(step)) {
                    return true
                }
            }
        }
        return false
    }
}

/** Moves elements between batches and the graph. */
@CompileStatic
@POJO
class ElementStore {
    private final Graph graph
    private final GraphChanges changes
    private final boolean transactional

    ElementStore(Graph graph, GraphChanges changes) {
        this.graph = graph
        this.changes = changes
        transactional = graph.features().graph().supportsTransactions()
    }

    boolean isUnchangedSince(String snapshot) { !transactional && changes.isUnchangedSince(snapshot) }

    /** Passes all vertices, then all edges, on as batches. Raises IllegalStateException if a writer was between. */
    void dump(Map<String, Map<String, String>> types, String snapshot, Consumer<Bytes> send) {
        rollback()
        try {
            dumpAll(types, snapshot, send)
            commit()
        } finally {
            rollback()
        }
    }

    private void dumpAll(Map<String, Map<String, String>> types, String snapshot, Consumer<Bytes> send) {
        Set<Object> ids = new HashSet<>()
        BatchWriter vertices = new BatchWriter('vertices', types.vertices)
        Iterator<Vertex> allVertices = graph.vertices()
        while (allVertices.hasNext()) {
            Vertex vertex = allVertices.next()
            ids.add(vertex.id())
            vertices.add(vertex, vertex.id(), null, null)
            if (vertices.full) {
                send.accept(vertices.take())
            }
        }
        send.accept(vertices.take())
        BatchWriter edges = new BatchWriter('edges', types.edges)
        Iterator<Edge> allEdges = graph.edges()
        while (allEdges.hasNext()) {
            Edge edge = allEdges.next()
            Object start = edge.outVertex().id()
            Object end = edge.inVertex().id()
            if (!ids.contains(start) || !ids.contains(end)) {
                throw new IllegalStateException('edges with a missing vertex')
            }
            edges.add(edge, edge.id(), start, end)
            if (edges.full) {
                send.accept(edges.take())
            }
        }
        send.accept(edges.take())
        if (snapshot != null) {
            changes.saved(snapshot)
        }
    }

    /** Adds elements that are not in the graph yet, which then equals this snapshot. */
    void create(BatchReader batch, String snapshot) {
        rollback()
        try {
            createAll(batch, snapshot)
            commit()
        } finally {
            rollback()
        }
    }

    private void createAll(BatchReader batch, String snapshot) {
        boolean vertices = batch.kind == 'vertices'
        ColumnReader others = batch.take(BatchWriter.OTHERS)
        ElementKeys keys = new ElementKeys(batch)
        for (int row = 0; row < batch.rows; row++) {
            String text = (String) others?.value(row)
            Map<String, Object> other = text == null ? Collections.<String, Object>emptyMap() :
                (Map<String, Object>) BatchWriter.GRAPHSON.readValue(text, Object)
            Object id = other.getOrDefault('~id', keys.id(row))
            Element element
            if (vertices) {
                element = graph.addVertex(T.id, id, T.label, keys.label(row))
            } else {
                Vertex start = end(keys, row, other.getOrDefault('~from', keys.from(row)))
                Vertex end = end(keys, row, other.getOrDefault('~to', keys.to(row)))
                element = start.addEdge(keys.label(row), end, T.id, id)
            }
            for (ColumnReader column : batch.properties) {
                Object value = column.value(row)
                if (value != null && !other.containsKey(column.name)) {
                    add(element, column.name, value)
                }
            }
            for (Map.Entry<String, Object> property : other.entrySet()) {
                if (property.value instanceof List) {
                    add(element, property.key, property.value)
                }
            }
        }
        changes.saved(snapshot)
    }

    /** Adds a value, or each value of a list, to a new element. */
    private static void add(Element element, String name, Object value) {
        if (value instanceof List) {
            for (Object member : (List) value) {
                add(element, name, member)
            }
        } else if (element instanceof Vertex) {
            // No value has to be replaced or compared.
            ((Vertex) element).property(Cardinality.list, name, value)
        } else {
            element.property(name, value)
        }
    }

    /** Upserts elements by id: single values are replaced, members are added to sets, others stay. */
    void merge(BatchReader batch) {
        rollback()
        try {
            mergeAll(batch)
            commit()
        } finally {
            rollback()
        }
    }

    private void mergeAll(BatchReader batch) {
        boolean vertices = batch.kind == 'vertices'
        ElementKeys keys = new ElementKeys(batch)
        for (int row = 0; row < batch.rows; row++) {
            Iterator<? extends Element> found = vertices ? graph.vertices(keys.id(row)) : graph.edges(keys.id(row))
            boolean missing = !found.hasNext()
            Element element = missing ? created(vertices, keys, row) : found.next()
            for (ColumnReader column : batch.properties) {
                Object value = missing || !batch.created.contains(column.name) ? column.value(row) : null
                if (value != null) {
                    set(element, column.name, value)
                }
            }
        }
        changes.add()
    }

    private static void set(Element element, String name, Object value) {
        if (!(element instanceof Vertex)) {
            element.property(name, value)
        } else if (value instanceof List) {
            for (Object member : (List) value) {
                ((Vertex) element).property(Cardinality.set, name, member)
            }
        } else {
            ((Vertex) element).property(Cardinality.single, name, value)
        }
    }

    private Element created(boolean vertex, ElementKeys keys, int row) {
        return vertex ? graph.addVertex(T.id, keys.id(row), T.label, keys.label(row)) :
            end(keys, row, keys.from(row)).addEdge(keys.label(row), end(keys, row, keys.to(row)), T.id, keys.id(row))
    }

    private Vertex end(ElementKeys keys, int row, Object id) {
        Iterator<Vertex> found = graph.vertices(id)
        if (!found.hasNext()) {
            String edge = "edge ${keys.id(row)} (${keys.from(row)} -${keys.label(row)}-> ${keys.to(row)})"
            throw new IllegalArgumentException("$edge: the graph has no vertex $id".toString())
        }
        return found.next()
    }

    private void commit() {
        if (transactional) {
            graph.tx().commit()
        }
    }

    private void rollback() {
        if (transactional) {
            graph.tx().rollback()
        }
    }
}

/** The elements of a graph for the server's pipeline. `executor`: executes all requests. */
@CompileStatic
@POJO
class GraphElements {
    private final GraphChanges changes = new GraphChanges()
    private final ElementStore store
    private final ExecutorService executor

    GraphElements(Graph graph, ExecutorService executor) {
        this.executor = executor
        store = new ElementStore(graph, changes)
    }

    /** Returns a handler for one connection; `refusalOf` returns why a request is refused, or null. */
    ChannelHandler handler(Function<HttpHeaders, HttpResponseStatus> refusalOf) {
        return new ElementTransfer(store, executor, refusalOf)
    }

    /** Lets the thread that executes a request, which was just passed on, note that it may have changed the graph. */
    void noteChanges(Object gremlin) {
        if (GraphChanges.mayWrite(gremlin)) {
            executor.execute(changes::add)
        }
    }
}

/** Answers requests below /elements/; all others go on to the WebSocket's handlers. */
@CompileStatic
@POJO
class ElementTransfer extends ChannelInboundHandlerAdapter {
    private static final String PATH = '/elements/'
    private final ElementStore store
    private final ExecutorService executor
    private final Function<HttpHeaders, HttpResponseStatus> refusalOf
    private String path = null
    private boolean refused = false
    private Bytes body = null

    ElementTransfer(ElementStore store, ExecutorService executor, Function<HttpHeaders, HttpResponseStatus> refusalOf) {
        this.store = store
        this.executor = executor
        this.refusalOf = refusalOf
    }

    @Override
    void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof HttpRequest) {
            begin(context, (HttpRequest) message)
        }
        if (path == null) {
            context.fireChannelRead(message)
            return
        }
        if (message instanceof HttpContent) {
            receive(context, (HttpContent) message)
        }
    }

    private void begin(ChannelHandlerContext context, HttpRequest request) {
        path = request.uri().startsWith(PATH) ? request.uri().substring(PATH.length()) : null
        if (path == null) {
            return
        }
        HttpResponseStatus refusal = refusalOf.apply(request.headers())
        HttpResponseStatus status = refusal != null ? refusal :
            !HttpMethod.POST.equals(request.method()) ? HttpResponseStatus.METHOD_NOT_ALLOWED :
            HttpUtil.getContentLength(request, 0L) > Integer.MAX_VALUE - 64L ? HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE : null
        refused = status != null
        body = new Bytes()
        if (refused) {
            answer(context, status, '').addListener(ChannelFutureListener.CLOSE)
        }
    }

    private void receive(ChannelHandlerContext context, HttpContent content) {
        try {
            if (refused) {
                return
            }
            byte[] bytes = new byte[content.content().readableBytes()]
            content.content().readBytes(bytes)
            body.bytes(bytes, bytes.length)
        } finally {
            ReferenceCountUtil.release(content)
        }
        if (content instanceof LastHttpContent) {
            Bytes received = body
            String operation = path
            body = null
            path = null
            executor.execute(new TransferRequest(store, context, operation, received))
        }
    }

    static ChannelFuture answer(ChannelHandlerContext context, HttpResponseStatus status, String text) {
        DefaultFullHttpResponse response = new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, status, Unpooled.copiedBuffer(text, StandardCharsets.UTF_8))
        if (status !== HttpResponseStatus.NO_CONTENT) {
            response.headers().set(HttpHeaderNames.CONTENT_LENGTH, response.content().readableBytes())
        }
        return context.writeAndFlush(response)
    }
}

/** A request with its whole body, executed as the requests of Gremlin are; takes the batches of its answer. */
@CompileStatic
@POJO
class TransferRequest implements Runnable, Consumer<Bytes> {
    private static final int CLIENT_SECONDS = 120
    private final ElementStore store
    private final ChannelHandlerContext context
    private final String operation
    private final Bytes received

    TransferRequest(ElementStore store, ChannelHandlerContext context, String operation, Bytes received) {
        this.store = store
        this.context = context
        this.operation = operation
        this.received = received
    }

    @Override
    void run() {
        try {
            String[] parts = operation.split('\\?snapshot=', 2)
            ByteBuffer bytes = ByteBuffer.wrap(received.array, 0, received.size).order(ByteOrder.LITTLE_ENDIAN)
            if (parts[0] == 'dump') {
                dump(BatchWriter.JSON.readValue(received.array, 0, received.size, Map))
                return
            } else if (parts[0] == 'create') {
                store.create(new BatchReader(bytes), parts[1])
            } else if (parts[0] == 'merge') {
                store.merge(new BatchReader(bytes))
            } else {
                answer(HttpResponseStatus.NOT_FOUND, '')
                return
            }
            answer(HttpResponseStatus.OK, '')
        } catch (TransactionException | IllegalStateException conflict) {
            answer(HttpResponseStatus.CONFLICT, textOf(conflict))
        } catch (IllegalArgumentException rejected) {
            answer(HttpResponseStatus.UNPROCESSABLE_ENTITY, textOf(rejected))
        } catch (OutOfMemoryError error) {
            throw error  // ends the process
        } catch (Throwable error) {
            answer(HttpResponseStatus.INTERNAL_SERVER_ERROR, textOf(error))
        }
    }

    private static String textOf(Throwable error) { error.message ?: error.class.simpleName }

    private void dump(Map request) {
        String snapshot = (String) request.snapshot
        if (store.isUnchangedSince((String) request.unless)) {
            answer(HttpResponseStatus.NO_CONTENT, '')
            return
        }
        DefaultHttpResponse head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK)
        HttpUtil.setTransferEncodingChunked(head, true)
        context.writeAndFlush(head)
        Bytes last = new Bytes()
        try {
            store.dump((Map<String, Map<String, String>>) request.columns, snapshot, this)
            last.int64(0)
        } catch (Exception error) {
            byte[] text = textOf(error).getBytes(StandardCharsets.UTF_8)
            last.int64(-text.length)
            last.bytes(text, text.length)
        }
        context.write(new DefaultHttpContent(Unpooled.wrappedBuffer(last.array, 0, last.size)))
        context.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT)
    }

    @Override
    void accept(Bytes batch) {
        Bytes length = new Bytes()
        length.int64(batch.size)
        context.write(new DefaultHttpContent(Unpooled.wrappedBuffer(length.array, 0, length.size)))
        ChannelFuture sent = context.writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(batch.array, 0, batch.size)))
        // One batch at a time is in memory.
        if (!sent.await(CLIENT_SECONDS, TimeUnit.SECONDS) || !sent.success) {
            context.close()
            throw new IOException('the client of a dump does not read')
        }
    }

    private ChannelFuture answer(HttpResponseStatus status, String text) {
        return ElementTransfer.answer(context, status, text)
    }
}

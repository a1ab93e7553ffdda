import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.EndTransactionRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.node.MetadataImageNode;
import org.apache.kafka.image.node.printer.MetadataNodePrinter;
import org.apache.kafka.image.node.printer.MetadataNodeRedactionCriteria;
import org.apache.kafka.metadata.util.BatchFileReader;

/**
 * Prints the tree of Kafka's metadata shell for each file: its own jar is not published, but what it shows is. Nothing may be
 * aborted in the files.
 */
public class Tree {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            System.out.println("== " + file);
            new MetadataImageNode(read(file)).print(new Printer());
        }
    }

    private static MetadataImage read(String file) throws Exception {
        MetadataImage image = MetadataImage.EMPTY;
        try (BatchFileReader reader = new BatchFileReader.Builder().setPath(file).build()) {
            while (reader.hasNext()) {
                BatchFileReader.BatchAndType next = reader.next();
                if (next.isControl()) {
                    continue;
                }
                MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
                for (var record : next.batch().records()) {
                    var message = record.message();
                    if (!(message instanceof BeginTransactionRecord || message instanceof EndTransactionRecord)) {
                        delta.replay(message);
                    }
                }
                long last = next.batch().baseOffset() + next.batch().records().size() - 1;
                image = delta.apply(new MetadataProvenance(
                    last, next.batch().epoch(), next.batch().appendTimestamp(), true));
            }
        }
        return image;
    }

    private static class Printer implements MetadataNodePrinter {
        private int depth = 0;

        @Override
        public MetadataNodeRedactionCriteria redactionCriteria() {
            return MetadataNodeRedactionCriteria.Disabled.INSTANCE;
        }

        @Override
        public void enterNode(String name) {
            line(name + ":");
            depth++;
        }

        @Override
        public void leaveNode() {
            depth--;
        }

        @Override
        public void output(String text) {
            line(text);
        }

        private void line(String text) {
            System.out.println("  ".repeat(depth) + text);
        }
    }
}
